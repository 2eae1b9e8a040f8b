// Package aurora is being built.
package aurora
