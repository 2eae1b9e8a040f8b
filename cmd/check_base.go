package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"

	"go.yaml.in/yaml/v3"

	"github.com/poolwright/poolwright/render"
	"github.com/poolwright/poolwright/render/build"
)

// againstBase compares a directory with another state of it. What Kubernetes or
// a running override forbids to change must be the same on both sides.
func againstBase(builder *build.Builder, baseDir string, now checked) []Issue {
	before, err := readDir(baseDir)
	if err != nil {
		return []Issue{{Severity: build.Error.String(), File: baseDir, Message: err.Error()}}
	}
	was, err := render.ReadBack(now.drawn.Cluster.Metadata.Name, before.Files)
	if err != nil {
		return []Issue{{Severity: build.Error.String(), File: filepath.Join(baseDir, render.TopologyFile), Message: err.Error()}}
	}
	topology := filepath.Join(now.Dir, render.TopologyFile)
	var issues []Issue
	say := func(format string, args ...any) {
		issues = append(issues, Issue{Severity: build.Error.String(), File: topology, Message: fmt.Sprintf(format, args...), Hint: "take topology.yaml and services.yaml from the newer commit"})
	}
	if now.drawn.State.Epoch < was.Epoch {
		say("the epoch goes back from %d to %d", was.Epoch, now.drawn.State.Epoch)
	}
	for _, m := range now.drawn.State.Members {
		for _, old := range was.Members {
			if old.Name == m.Name && old.Slot != m.Slot {
				say("the slot of %s changes from %d to %d", m.Name, old.Slot, m.Slot)
			}
		}
	}
	return append(issues, immutable(builder, before.Files, now)...)
}

// immutable compares the selectors of Deployments, which Kubernetes never lets change.
func immutable(builder *build.Builder, before map[string][]byte, now checked) []Issue {
	was, err := deploymentSelectors(builder, before)
	if err != nil {
		return []Issue{{Severity: build.Error.String(), File: now.Dir, Message: "the base does not build: " + err.Error()}}
	}
	is, err := deploymentSelectors(builder, now.files)
	if err != nil {
		return nil // the check of the directory has said it
	}
	var issues []Issue
	for _, name := range sortedKeys(is) {
		if old, ok := was[name]; ok && !reflect.DeepEqual(old, is[name]) {
			issues = append(issues, Issue{
				Severity: build.Error.String(), Object: "Deployment " + name, Message: fmt.Sprintf("its selector changes from %v to %v", old, is[name]),
				Hint: "a Deployment's selector can never be changed: take the change back",
			})
		}
	}
	return issues
}

// deploymentSelectors are spec.selector of each built Deployment, by name.
func deploymentSelectors(builder *build.Builder, files map[string][]byte) (map[string]any, error) {
	manifests, err := builder.Build(files)
	if err != nil {
		return nil, err
	}
	selectors := map[string]any{}
	for dec := yaml.NewDecoder(bytes.NewReader(manifests)); ; {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct{ Selector any }
		}
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return selectors, nil
		} else if err != nil {
			return nil, err
		}
		if o.Kind == "Deployment" {
			selectors[o.Metadata.Name] = o.Spec.Selector
		}
	}
}
