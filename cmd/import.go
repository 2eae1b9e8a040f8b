package cmd

import (
	"fmt"
	"os"

	"github.com/poolwright/poolwright/clusters"
)

// ImportCmd turns a PgBouncerAurora resource into a Cluster file.
type ImportCmd struct {
	Resource string `arg:"" name:"cr.yaml" help:"The resource."`
	Out      string `name:"output" short:"o" placeholder:"FILE" help:"Write the Cluster file here, which must not exist yet. Default: standard output."`
}

// Help is shown by --help.
func (ImportCmd) Help() string {
	return example("poolwright import pgbounceraurora.yaml -o cluster.yaml")
}

// Run translates; what could not be carried goes to standard error.
func (c ImportCmd) Run(std *Stdio) error {
	data, err := os.ReadFile(c.Resource)
	if err != nil {
		return fmt.Errorf("reading the resource: %w", err)
	}
	text, notes, err := clusters.Import(data)
	if err != nil {
		return fmt.Errorf("importing %s: %w", c.Resource, err)
	}
	if err := c.write(std, text); err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(std.Err, "note: %s\n", note)
	}
	return nil
}

// write never replaces a file: what a person has edited since is worth more.
func (c ImportCmd) write(std *Stdio, text []byte) error {
	if c.Out == "" {
		_, err := std.Out.Write(text)
		return err
	}
	f, err := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("writing the Cluster file: %w", err)
	}
	if _, err := f.Write(text); err != nil {
		_ = f.Close()
		return fmt.Errorf("writing the Cluster file: %w", err)
	}
	return f.Close()
}
