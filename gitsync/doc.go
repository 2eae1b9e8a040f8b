// Package gitsync is being built.
package gitsync
