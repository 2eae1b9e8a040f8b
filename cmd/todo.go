package cmd

import "errors"

var errTODO = errors.New("not built yet")

type (
	DemoCmd     struct{}
	DiscoverCmd struct{}
	PlanCmd     struct{}
	RenderCmd   struct{}
	DiffCmd     struct{}
	CheckCmd    struct{}
	ImportCmd   struct{}
)

func (DemoCmd) Run() error     { return errTODO }
func (DiscoverCmd) Run() error { return errTODO }
func (PlanCmd) Run() error     { return errTODO }
func (RenderCmd) Run() error   { return errTODO }
func (DiffCmd) Run() error     { return errTODO }
func (CheckCmd) Run() error    { return errTODO }
func (ImportCmd) Run() error   { return errTODO }
