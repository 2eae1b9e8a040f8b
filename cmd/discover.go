package cmd

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/poolwright/poolwright/discovery"
)

// DiscoverCmd asks a cluster once.
type DiscoverCmd struct {
	ClusterFlag  `embed:""`
	SnapshotFlag `embed:""`
	Output       `embed:""`
	SnapshotOut  string `placeholder:"FILE" help:"Write what was seen to this file, for plan and render."`
}

// Help is shown by --help.
func (DiscoverCmd) Help() string {
	return example("poolwright discover -f cluster.yaml --snapshot-out seen.yaml")
}

// Run looks, judges and tells.
func (c DiscoverCmd) Run(ctx context.Context, std *Stdio) error {
	d, err := declare(c.File)
	if err != nil {
		return err
	}
	seen, err := c.observe(ctx, d)
	if err != nil {
		return err
	}
	if err := c.record(seen); err != nil {
		return err
	}
	t := discovery.Merge(seen)
	if err := c.write(std.Out, viewOf(t), func(w io.Writer) error { return writeTopology(w, t) }); err != nil {
		return err
	}
	return untrusted(t, "")
}

// record writes the snapshot, doubtful or not: a doubt is what one wants to look into.
func (c DiscoverCmd) record(seen discovery.Observation) error {
	if c.SnapshotOut == "" {
		return nil
	}
	data, err := discovery.WriteSnapshot(seen)
	if err == nil {
		err = os.WriteFile(c.SnapshotOut, data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the snapshot: %w", err)
	}
	return nil
}

// topologyView is a topology for machines.
type topologyView struct {
	Cluster   string         `json:"cluster"`
	Trusted   bool           `json:"trusted"`
	Instances []instanceView `json:"instances"`
	Doubts    []factView     `json:"doubts,omitempty"`
	Notes     []factView     `json:"notes,omitempty"`
}

type instanceView struct {
	Name     string `json:"name"`
	Role     string `json:"role"`
	Probe    string `json:"probe"`
	Zone     string `json:"zone,omitempty"`
	Class    string `json:"class,omitempty"`
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Resource string `json:"resource,omitempty"`
	Deleting bool   `json:"deleting,omitempty"`
}

// factView is a doubt, a note or a reason.
type factView struct {
	Code     string `json:"code"`
	Instance string `json:"instance,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

func viewOf(t discovery.Topology) topologyView {
	v := topologyView{Cluster: t.Cluster, Trusted: t.Trusted()}
	for _, i := range t.Instances {
		v.Instances = append(v.Instances, instanceView{
			Name: i.Name, Role: i.Role.String(), Probe: probeWord(i.Probe), Zone: i.Zone, Class: i.Class,
			Host: i.Host, Port: i.Port, Resource: i.Resource, Deleting: i.Deleting,
		})
	}
	for _, d := range t.Doubts {
		v.Doubts = append(v.Doubts, factView{d.Code.String(), d.Instance, d.Detail})
	}
	for _, n := range t.Notes {
		v.Notes = append(v.Notes, factView{n.Code.String(), n.Instance, n.Detail})
	}
	return v
}

// probeWord is what came of asking, "ok" for an answer.
func probeWord(f discovery.Fault) string {
	if f == discovery.None {
		return "ok"
	}
	return f.String()
}

// writeTopology writes the table for people, then doubts and notes.
func writeTopology(w io.Writer, t discovery.Topology) error {
	rows := [][]string{{"INSTANCE", "ROLE", "PROBE", "ZONE", "HOST"}}
	for _, i := range t.Instances {
		probe := probeWord(i.Probe)
		if i.Deleting {
			probe += ",deleting"
		}
		rows = append(rows, []string{i.Name, i.Role.String(), probe, orDash(i.Zone), fmt.Sprintf("%s:%d", i.Host, i.Port)})
	}
	if err := table(w, rows); err != nil {
		return err
	}
	v := viewOf(t)
	if err := writeFacts(w, "doubts", v.Doubts); err != nil {
		return err
	}
	return writeFacts(w, "notes", v.Notes)
}

// writeFacts writes a titled list, or nothing.
func writeFacts(w io.Writer, title string, facts []factView) error {
	if len(facts) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "%s:\n", title); err != nil {
		return err
	}
	var rows [][]string
	for _, f := range facts {
		rows = append(rows, []string{"  " + f.Code, orDash(f.Instance), f.Detail})
	}
	return table(w, rows)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
