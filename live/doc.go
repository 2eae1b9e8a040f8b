// Package live is being built.
package live
