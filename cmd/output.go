package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"
)

// Output is the flag that chooses between people and machines.
type Output struct {
	Format string `name:"output" short:"o" enum:"text,json,yaml" default:"text" help:"Format: text, json or yaml."`
}

// isForMachines reports whether one value is to be written, and no words.
func (o Output) isForMachines() bool { return o.Format == "json" || o.Format == "yaml" }

// write writes v for a machine, or calls text for people.
func (o Output) write(w io.Writer, v any, text func(io.Writer) error) error {
	switch o.Format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	case "yaml":
		data, err := yaml.Marshal(v)
		if err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
		_, err = w.Write(data)
		return err
	default:
		return text(w)
	}
}

// table writes rows in aligned columns, without blanks at the ends of lines.
func table(w io.Writer, rows [][]string) error {
	var aligned strings.Builder
	tw := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = printable(cell)
		}
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(aligned.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
