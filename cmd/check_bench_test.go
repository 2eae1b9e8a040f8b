package cmd

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/gitsync"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

const benchFile = `apiVersion: poolwright.dev/v1alpha1
kind: Cluster
metadata:
  name: NAME
  namespace: databases
spec:
  discovery:
    clusterName: NAME
    domainName: abcd.us-east-1.rds.amazonaws.com
  pgbouncer:
    image: registry.example.com/pgbouncer:1.24.1
    authFileSecretRef:
      name: NAME-userlist
`

// BenchmarkCheck100Clusters checks 100 directories of 4 instances each.
func BenchmarkCheck100Clusters(b *testing.B) {
	root := b.TempDir()
	for i := range 100 {
		name := fmt.Sprintf("orders-%03d", i)
		file := []byte(strings.ReplaceAll(benchFile, "NAME", name))
		c, err := clusters.Load(clusterFileName, file)
		if err != nil {
			b.Fatal(err)
		}
		tree, err := render.Draw(c, fourOf(name), render.Given{})
		if err != nil {
			b.Fatal(err)
		}
		tree[clusterFileName] = file
		if err := writeDir(filepath.Join(root, name), gitsync.Change{Put: tree}); err != nil {
			b.Fatal(err)
		}
	}
	verb := CheckCmd{Dirs: []string{filepath.Join(root, "*")}}
	for b.Loop() {
		if err := verb.Run(&Stdio{Out: io.Discard}); err != nil {
			b.Fatal(err)
		}
	}
}

// fourOf is a state with a writer and three readers.
func fourOf(name string) plan.State {
	s := plan.State{Epoch: 1, Writer: name + "-0"}
	for i := range 4 {
		member := fmt.Sprintf("%s-%d", name, i)
		s.Members = append(s.Members, plan.Member{
			Name: member, Host: member + ".abcd.us-east-1.rds.amazonaws.com", Port: 5432, Slot: i, Since: time.Unix(1770000000, 0).UTC(),
		})
	}
	return s
}
