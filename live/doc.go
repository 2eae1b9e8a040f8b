// Package live runs ahead of Git: override, re-assert, evict, hand back. It
// never computes a selector and never reverts on a timer.
//
// Nothing of it is built yet: poolwright works through Git only. The package
// stands here so that the import law covers it from the first day.
package live
