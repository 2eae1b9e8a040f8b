// Package templates is being built.
package templates
