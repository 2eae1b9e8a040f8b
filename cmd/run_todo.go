package cmd

import "errors"

// RunCmd stands here until run.go has it.
type RunCmd struct{}

// Run is not built yet.
func (RunCmd) Run() error { return errors.New("not built yet") }
