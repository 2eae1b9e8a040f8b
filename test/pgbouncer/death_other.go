//go:build !linux

package pgbouncer

import "syscall"

func endWithParent(*syscall.SysProcAttr) {}
