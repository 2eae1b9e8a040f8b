package clusters

import (
	"fmt"
	"strings"
	"testing"
)

// Each of these would take minutes, gigabytes or the whole stack if aliases were followed without counting.
func TestFilesThatGrowAreRefused(t *testing.T) {
	many := func(n int, s string) string { return strings.Repeat(s, n) }
	var wide strings.Builder
	for i := range 3_000 {
		fmt.Fprintf(&wide, "k%d: *a, ", i)
	}
	for name, spec := range map[string]string{
		"a mapping inside itself":         "spec: &a\n  discovery: *a\n  pgbouncer: *a\n",
		"a mapping merged into itself":    "spec: &a\n  <<: *a\n",
		"merges of merges":                "spec: &a\n  <<: [*a, *a, *a]\n",
		"a list inside itself":            "spec:\n  pgbouncer:\n    sidecars: &a [*a, *a]\n",
		"wide mappings inside themselves": "spec: &a {" + wide.String() + "}\n",
		"many objects with unknown keys":  "spec:\n  pgbouncer:\n    sidecars: [&a {" + many(500, "x: 1, ") + "name: b}, " + many(500, "*a, ") + "]\n",
		"nine levels of nine":             "spec:\n  a: &a [x,x,x,x,x,x,x,x,x]\n  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n  c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n  d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n  e: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
		"deep brackets":                   "spec: " + many(5000, "[") + many(5000, "]") + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Load("cluster.yaml", []byte("apiVersion: "+APIVersion+"\nkind: "+Kind+"\n"+spec)); err == nil {
				t.Error("loaded")
			}
			if _, _, err := Import([]byte("apiVersion: " + importGroup + "v1alpha1\nkind: " + importKind + "\n" + spec)); err == nil {
				t.Error("imported")
			}
		})
	}
}

func TestSizeIsBounded(t *testing.T) {
	_, err := Load("cluster.yaml", []byte(base+"#"+strings.Repeat("x", maxSize)))
	if err == nil || !strings.Contains(err.Error(), "at most 1048576 are read") {
		t.Error(err)
	}
}

func TestLongListsOfProblemsAreCut(t *testing.T) {
	var b strings.Builder
	b.WriteString(base + "    config:\n      pgbouncer:\n")
	for range 60 {
		b.WriteString("        pool_mode: session\n")
	}
	_, err := Load("cluster.yaml", []byte(b.String()))
	problems, _ := err.(Errors)
	if len(problems) != 59 || !strings.HasSuffix(problems.Error(), "\nand 9 more problems") {
		t.Error(len(problems), err)
	}
}
