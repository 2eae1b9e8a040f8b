package clusters

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"
)

// Load reads the bytes of a Cluster file, fills every default and checks every rule. file is only for messages.
// Everything that is wrong comes together as an Errors; then the Cluster is not to be used.
func Load(file string, data []byte) (Cluster, error) {
	r := newReport(file)
	c := r.load(data)
	if err := r.errors(); err != nil {
		return Cluster{}, err
	}
	derive(&c)
	return c, nil
}

func (r *report) load(data []byte) Cluster {
	if n := r.parse(data); n != nil {
		return r.check(n)
	}
	return Cluster{}
}

// check reads and judges a parsed file.
func (r *report) check(n *yaml.Node) Cluster {
	tree := r.decode(n)
	if tree == nil {
		return Cluster{}
	}
	r.credentials(tree)
	fill(tree)
	c, err := toCluster(tree)
	if err != nil {
		r.add("", err.Error(), "", false)
		return Cluster{}
	}
	r.validate(c)
	return c
}

// toCluster turns a decoded tree into the types. The schema is made from the types, so everything has its place.
func toCluster(tree map[string]any) (Cluster, error) {
	b, err := json.Marshal(tree)
	if err != nil {
		return Cluster{}, err
	}
	var c Cluster
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err = dec.Decode(&c)
	return c, err
}
