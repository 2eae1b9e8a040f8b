// Package plan is being built.
package plan
