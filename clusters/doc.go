// Package clusters is what a person declares.
package clusters
