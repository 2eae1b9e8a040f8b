package clusters

import (
	"os"
	"testing"
)

func TestExampleLoads(t *testing.T) {
	data, err := os.ReadFile("example/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load("cluster.yaml", data); err != nil {
		t.Fatal(err)
	}
}
