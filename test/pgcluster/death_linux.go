package pgcluster

import "syscall"

// endWithParent has the kernel stop a server at once when the test process
// dies without its cleanups, as it does on a test timeout.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
