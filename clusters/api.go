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
		return r.check(n, func(map[string]any) {})
	}
	return Cluster{}
}

// check reads and judges a parsed file, which complete may add to.
func (r *report) check(n *yaml.Node, complete func(tree map[string]any)) (c Cluster) {
	tree := r.decode(n, fileSchema())
	if tree == nil {
		return c
	}
	r.credentials(tree)
	complete(tree)
	fill(tree, Defaults())
	if err := into(tree, &c); err != nil {
		r.add("", err.Error(), "", false)
		return Cluster{}
	}
	r.validate(c)
	return c
}

// into turns a decoded tree into its type. The schema is made from the types, so everything has its place.
func into(tree map[string]any, v any) error {
	b, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}
