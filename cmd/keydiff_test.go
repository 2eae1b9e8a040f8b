package cmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const services = `apiVersion: v1
kind: Service
metadata:
  name: pg-writer
spec:
  selector:
    poolwright.dev/instance: pg-1
  ports:
    - name: pgbouncer
      port: 6432
`

func TestDifferencesKeyByKey(t *testing.T) {
	for _, tt := range []struct {
		name, file    string
		before, after string
		want          []string
	}{
		{
			name: "a selector moves", file: "services.yaml",
			before: services, after: strings.Replace(services, "pg-1", "pg-2", 1),
			want: []string{"~ Service/pg-writer spec.selector[poolwright.dev/instance]: pg-1 → pg-2"},
		},
		{
			name: "a list element is found by its name", file: "services.yaml",
			before: services, after: strings.Replace(services, "    - name: pgb", "    - name: extra\n      port: 1\n    - name: pgb", 1),
			want: []string{
				"+ Service/pg-writer spec.ports[extra].name: extra",
				"+ Service/pg-writer spec.ports[extra].port: 1",
			},
		},
		{
			name: "YAML inside of a ConfigMap is opened", file: "topology.yaml",
			before: "kind: ConfigMap\nmetadata: {name: t}\ndata:\n  instances: |\n    - name: a\n      out: in\n    - name: b\n      out: in\n",
			after:  "kind: ConfigMap\nmetadata: {name: t}\ndata:\n  instances: |\n    - name: a\n      out: in\n    - name: b\n      out: unhealthy\n",
			want:   []string{"~ ConfigMap/t data.instances[b].out: in → unhealthy"},
		},
		{
			name: "an ini key by section", file: "pgbouncer.ini",
			before: "[databases]\n* = host=a\n[pgbouncer]\n; a note\npool_mode = session\n",
			after:  "[databases]\n* = host=b\n[pgbouncer]\npool_mode = session\nlisten_port = 6432\n",
			want:   []string{"~ [databases] *: host=a → host=b", "+ [pgbouncer] listen_port: 6432"},
		},
		{
			name: "an entry of a list of names", file: "kustomization.yaml",
			before: "resources:\n  - base\n", after: "resources:\n  - base\n  - instances/x\n",
			want: []string{"+ resources[instances/x]: instances/x"},
		},
		{
			name: "the second document without a name", file: "x.yaml",
			before: "a: 1\n---\nb: 1\n", after: "a: 1\n---\nb: 2\n",
			want: []string{"~ document 2 b: 1 → 2"},
		},
		{
			name: "what is not YAML has no keys", file: "x.yaml",
			before: "a: [", after: "a: ]", want: nil,
		},
		{
			name: "other files have no keys", file: "README.md",
			before: "a", after: "b", want: nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, k := range diffKeys(tt.file, []byte(tt.before), []byte(tt.after)) {
				got = append(got, k.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiffOfEqualTreesIsEmpty(t *testing.T) {
	files := map[string][]byte{"a.yaml": []byte("x: 1\n"), "empty": {}}
	if got := diffFiles(files, files); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// FuzzDiffKeys: any two texts are comparable, and equal texts do not differ.
func FuzzDiffKeys(f *testing.F) {
	f.Add("services.yaml", services, services)
	f.Add("x.ini", "[a]\nb=c", "= = =")
	f.Add("x.yaml", "a: |\n  b: 1\n", "- 1\n- {name: 2}\n")
	f.Fuzz(func(t *testing.T, file, a, b string) {
		diffKeys(file, []byte(a), []byte(b))
		if got := diffKeys(file, []byte(a), []byte(a)); len(got) != 0 {
			t.Errorf("a text differs from itself: %v", got)
		}
	})
}
