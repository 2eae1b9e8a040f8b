package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
)

// MaxEpoch is the greatest epoch that is believed: JSON carries no greater number
// exactly everywhere, and one more must still be a number.
const MaxEpoch = 1<<53 - 1

type topologyView struct {
	Header              string
	Name                string
	Labels, Annotations []pair
	Epoch               uint64
	Writer              string
	Timeline            uint32 // 0: not known
	Fallback            bool
	Members             []memberView
}

type memberView struct {
	Name, Resource, Host string
	Port                 int
	Zone                 string
	Slot                 int
	Out, Since           string
}

// TopologyName is the name of the ConfigMap in topology.yaml.
func TopologyName(c clusters.Cluster) string { return topologyName(c.Metadata.Name) }

func topologyName(cluster string) string { return cluster + "-topology" }

func drawTopology(c clusters.Cluster, s plan.State) ([]byte, error) {
	v := topologyView{
		Header: header, Name: TopologyName(c), Labels: pairs(objectLabels(c)), Annotations: pairs(theirs(c.Metadata.Annotations)),
		Epoch: s.Epoch, Writer: s.Writer, Timeline: s.Timeline, Fallback: s.Fallback,
	}
	for _, m := range s.Members {
		v.Members = append(v.Members, memberView{
			Name: m.Name, Resource: m.Resource, Host: m.Host, Port: m.Port, Zone: m.Zone,
			Slot: m.Slot, Out: m.Out.String(), Since: m.Since.UTC().Format(time.RFC3339),
		})
	}
	return execute("topology.yaml.tmpl", v)
}

// maxTopology bounds topology.yaml, and its list of instances: 20 members need a hundredth of it.
const maxTopology = 256 << 10

// ReadBack reads the state of a cluster's tree. Nothing of ours in t is the zero State; a topology.yaml that is
// missing from beside our services.yaml or overlays is an error: it is the memory of who is in which slot, and a
// first tree drawn over it would move pods that run. So is one of another cluster. Comments and layout do not matter;
// anything else that Draw would not write is an error, and names the file.
func ReadBack(cluster string, t Tree) (plan.State, error) {
	data, ok := t[TopologyFile]
	if !ok {
		return plan.State{}, memoryLost(t)
	}
	s, err := readTopology(cluster, data)
	if err != nil {
		return plan.State{}, fmt.Errorf("reading %s: %w", TopologyFile, err)
	}
	return s, nil
}

// memoryLost is an error when t has what only stands beside a topology.yaml.
func memoryLost(t Tree) error {
	for _, file := range slices.Sorted(maps.Keys(t)) {
		if _, inside := overlayOf(file); (inside || file == ServicesFile) && Owned(file, t[file]) {
			return fmt.Errorf("reading %s: it is missing, but %s is there: restore it from the last commit that has it (git revert, or git checkout COMMIT -- %s)", TopologyFile, file, TopologyFile)
		}
	}
	return nil
}

func bounded(size int) error {
	if size > maxTopology {
		return fmt.Errorf("%d bytes are more than the %d allowed", size, maxTopology)
	}
	return nil
}

func readTopology(cluster string, data []byte) (plan.State, error) {
	if err := bounded(len(data)); err != nil {
		return plan.State{}, err
	}
	var file struct {
		Kind     string            `yaml:"kind"`
		Metadata topologyHeader    `yaml:"metadata"`
		Data     map[string]string `yaml:"data"`
	}
	if err := decodeOne(data, &file, false); err != nil {
		return plan.State{}, err
	}
	if file.Kind != "ConfigMap" {
		return plan.State{}, fmt.Errorf("kind is %q, not ConfigMap", file.Kind)
	}
	if err := file.Metadata.of(cluster); err != nil {
		return plan.State{}, err
	}
	return readData(file.Data)
}

// ReadLive reads the state from the data of a cluster's live topology ConfigMap: what the GitOps tool has applied last. It is
// as strict as ReadBack. Data without a state is an error: whether there is a ConfigMap is for the caller to know.
func ReadLive(cluster string, data map[string]string) (plan.State, error) {
	s, err := readData(data)
	if err != nil {
		return plan.State{}, fmt.Errorf("reading ConfigMap %s: %w", topologyName(cluster), err)
	}
	return s, nil
}

// readData reads the data of a topology ConfigMap.
func readData(data map[string]string) (plan.State, error) {
	epoch, err := strconv.ParseUint(data["epoch"], 10, 64)
	if err != nil || epoch == 0 || epoch > MaxEpoch {
		return plan.State{}, fmt.Errorf("data.epoch %q is not a number from 1 to %d", data["epoch"], uint64(MaxEpoch))
	}
	timeline, err := readTimeline(data["timeline"])
	if err != nil {
		return plan.State{}, err
	}
	fallback, err := strconv.ParseBool(data["fallback"])
	if err != nil {
		return plan.State{}, fmt.Errorf("data.fallback %q is neither true nor false", data["fallback"])
	}
	members, err := readMembers(data["instances"])
	if err != nil {
		return plan.State{}, fmt.Errorf("data.instances: %w", err)
	}
	s := sorted(plan.State{Epoch: epoch, Writer: data["writer"], Timeline: timeline, Fallback: fallback, Members: members})
	return s, check(s)
}

// readTimeline reads data.timeline, which is only there when it is known.
func readTimeline(text string) (uint32, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("data.timeline %q is not a number from 1", text)
	}
	return uint32(n), nil
}

// topologyHeader tells whose topology it is.
type topologyHeader struct {
	Name   string            `yaml:"name"`
	Labels map[string]string `yaml:"labels"`
}

// of refuses the topology of another cluster than the one of that name: its slots are not this one's.
func (h topologyHeader) of(cluster string) error {
	switch label := h.Labels[LabelCluster]; {
	case h.Name != topologyName(cluster):
		return fmt.Errorf("metadata.name is %q, not %q: it is not the topology of %s", h.Name, topologyName(cluster), cluster)
	case label != LabelValue(cluster):
		return fmt.Errorf("label %s is %q, not %q: it is not the topology of %s", LabelCluster, label, LabelValue(cluster), cluster)
	}
	return nil
}

type memberFile struct {
	Name     string `yaml:"name"`
	Resource string `yaml:"resource"`
	Host     string `yaml:"host"`
	Port     int    `yaml:"port"`
	Zone     string `yaml:"zone"`
	Slot     *int   `yaml:"slot"`
	Out      string `yaml:"out"`
	Since    string `yaml:"since"`
}

func readMembers(data string) ([]plan.Member, error) {
	if err := bounded(len(data)); err != nil {
		return nil, err
	}
	var list []memberFile
	if err := decodeOne([]byte(data), &list, true); err != nil {
		return nil, err
	}
	members := make([]plan.Member, 0, len(list))
	for i, f := range list {
		m, err := f.member()
		if err != nil {
			return nil, fmt.Errorf("entry %d %q: %w", i, f.Name, err)
		}
		members = append(members, m)
	}
	return members, nil
}

func (f memberFile) member() (plan.Member, error) {
	if f.Slot == nil {
		return plan.Member{}, errors.New("no slot")
	}
	var out plan.Out
	if err := out.UnmarshalText([]byte(f.Out)); err != nil {
		return plan.Member{}, err
	}
	since, err := time.Parse(time.RFC3339, f.Since)
	if err != nil {
		return plan.Member{}, fmt.Errorf("since %q is not a time", f.Since)
	}
	return plan.Member{
		Name: f.Name, Resource: f.Resource, Host: f.Host, Port: f.Port, Zone: f.Zone,
		Slot: *f.Slot, Out: out, Since: since.UTC(),
	}, nil
}

// decodeOne reads exactly one YAML document.
func decodeOne(data []byte, into any, strict bool) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(strict)
	if err := dec.Decode(into); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("empty")
		}
		return err
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	return nil
}
