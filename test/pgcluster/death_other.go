//go:build !linux

package pgcluster

import "syscall"

func endWithParent(*syscall.SysProcAttr) {}
