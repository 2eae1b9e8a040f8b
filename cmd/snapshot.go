package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/poolwright/poolwright/discovery"
)

// SnapshotFlag names recorded evidence.
type SnapshotFlag struct {
	Snapshot string `placeholder:"FILE" help:"Judge this snapshot instead of asking the databases."`
}

// observe looks at the cluster once, or reads what was seen.
func (f SnapshotFlag) observe(ctx context.Context, d declaration) (discovery.Observation, error) {
	if f.Snapshot == "" {
		return observeOnce(ctx, d)
	}
	seen, err := readSnapshot(f.Snapshot)
	switch provider := d.Cluster.Spec.Discovery.Provider; {
	case err != nil:
		return seen, err
	case seen.Cluster != d.Metadata.Name:
		return seen, exitf(ExitUsage, "", "reading the snapshot %s: it is of cluster %q, not of %q", f.Snapshot, seen.Cluster, d.Metadata.Name)
	case seen.Provider.String() != provider:
		return seen, exitf(ExitUsage, "", "reading the snapshot %s: its provider is %s, that of the Cluster file is %s", f.Snapshot, seen.Provider, provider)
	}
	return seen, nil
}

// command is what to type to see the evidence.
func (f SnapshotFlag) command(file string) string {
	if f.Snapshot == "" {
		return commandLine("discover", "-f", file)
	}
	return commandLine("discover", "-f", file, "--snapshot", f.Snapshot)
}

// maxSnapshot is far above any real snapshot, in bytes.
const maxSnapshot = 8 << 20

func readSnapshot(file string) (discovery.Observation, error) {
	f, err := os.Open(file)
	if err != nil {
		return discovery.Observation{}, fmt.Errorf("reading the snapshot: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxSnapshot+1))
	if err == nil && len(data) > maxSnapshot {
		err = fmt.Errorf("it has more than %d bytes", maxSnapshot)
	}
	if err != nil {
		return discovery.Observation{}, fmt.Errorf("reading the snapshot %s: %w", file, err)
	}
	seen, err := discovery.ReadSnapshot(data)
	if err != nil {
		return seen, exitf(ExitUsage, "", "reading the snapshot %s: %s", file, snapshotProblem(err))
	}
	return seen, nil
}

// jargon is what the readers of YAML and JSON say about themselves.
var jargon = regexp.MustCompile(`reading snapshot: |error unmarshaling JSON: |while decoding JSON: |error converting YAML to JSON: |yaml: |unmarshal errors:\s*|json: `)

// maxProblem bounds the text of one problem, in runes.
const maxProblem = 300

// snapshotProblem is one line about what is wrong with a snapshot, without the names of Go types.
func snapshotProblem(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return strings.TrimPrefix(wrong.Field+": ", ": ") + "needs " + kindWord(wrong.Type) + ", has " + jsonWord(wrong.Value)
	}
	if wrong, ok := errors.AsType[*time.ParseError](err); ok {
		return shortened(fmt.Sprintf("%q is not a time such as 2026-01-31T12:00:00Z", wrong.Value))
	}
	lines := strings.FieldsFunc(jargon.ReplaceAllString(err.Error(), ""), func(r rune) bool { return r == '\n' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return shortened(strings.Join(lines, "; "))
}

func shortened(text string) string {
	if runes := []rune(text); len(runes) > maxProblem {
		return string(runes[:maxProblem]) + "..."
	}
	return text
}

func kindWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "a mapping"
	}
	return "a whole number"
}

func jsonWord(value string) string {
	word, _, _ := strings.Cut(value, " ") // "number 1.5"
	words := map[string]string{"array": "a list", "object": "a mapping", "string": "text", "number": "a number", "bool": "true or false"}
	if known, ok := words[word]; ok {
		return known
	}
	return "something else"
}
