package cmd

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/poolwright/poolwright/clusters"
)

// declaration is a Cluster file as it was read, and its identity.
type declaration struct {
	clusters.Cluster
	// Spec is a digest of the file's bytes: an edit by a person changes it.
	Spec string
}

// declarationFile reads one Cluster file again and again; it is parsed anew only
// when its bytes changed.
type declarationFile struct {
	path string
	last declaration
	err  error
	spec string
}

// read returns the declaration, or why the file cannot be used.
func (f *declarationFile) read() (declaration, error) {
	data, err := os.ReadFile(f.path)
	if err != nil {
		return declaration{}, fmt.Errorf("reading the Cluster file: %w", err)
	}
	if spec := specOf(data); spec != f.spec {
		f.spec = spec
		f.last = declaration{Spec: spec}
		f.last.Cluster, f.err = clusters.Load(f.path, data)
	}
	return f.last, f.err
}

func specOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
