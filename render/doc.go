// Package render is being built.
package render
