package build

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/plan"
)

// Verify holds manifests, built and then spoilt by a test, against a state.
func Verify(t testing.TB, c clusters.Cluster, s plan.State, manifests []byte) []Finding {
	t.Helper()
	var list []object
	for dec := yaml.NewDecoder(bytes.NewReader(manifests)); ; {
		var o map[string]any // not an object: its mappings would all be objects
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return verify(c, s, list)
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
}
