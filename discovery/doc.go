// Package discovery is being built.
package discovery
