package pgbouncer

import "syscall"

// endWithParent has the kernel end a process when the test process dies without
// its cleanups, as it does on a test timeout.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
