// Package gitsynctest is the contract of [gitsync.Publisher], as a suite that every implementation passes: the
// direct commit over each transport, and the forge APIs.
//
// The suite looks at results with git itself, in the bare repository behind the publisher. It provokes
// conflicts from within Draw, where the order of events is certain, so nothing in it waits or sleeps.
package gitsynctest
