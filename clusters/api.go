package clusters

import (
	"bytes"
	"encoding/json"
	"strings"

	"sigs.k8s.io/yaml"
)

// Load reads a Cluster file's bytes: strict, then defaults, then validation. file is only for messages.
func Load(file string, data []byte) (Cluster, error) {
	var tree map[string]any
	if err := yaml.UnmarshalStrict(data, &tree); err != nil {
		return Cluster{}, err
	}
	fill(tree)
	b, err := json.Marshal(tree)
	if err != nil {
		return Cluster{}, err
	}
	var c Cluster
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return Cluster{}, err
	}
	derive(&c)
	return c, nil
}

func fillOne(tree map[string]any, d Default) {
	keys := strings.Split(d.Path, ".")
	for _, k := range keys[:len(keys)-1] {
		next, ok := tree[k].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[k] = next
		}
		tree = next
	}
	if last := keys[len(keys)-1]; tree[last] == nil {
		tree[last] = d.Value
	}
}
