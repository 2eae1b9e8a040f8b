// Package driver drives poolwright from outside: the process, the repository it
// writes, the Cluster file it reads. The tests of packages test and test/e2e share it.
//
//  1. The binary is the test binary itself: [Main] makes it be poolwright when it is
//     asked to, with the race detector in it when the tests have it.
//  2. A [Process] is killed when its test ends, and its log is shown when that failed.
//  3. A [Remote] is a bare repository behind git's own smart-HTTP backend.
//  4. Every wait looks after each thing that happens, and ends in a failure after
//     [Patience]. No test passes by it.
package driver
