package clusters

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func seed(f *testing.F, patterns ...string) {
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal(pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
}

// FuzzLoad: no input panics, and a loaded cluster marshals to a file that loads to the same.
func FuzzLoad(f *testing.F) {
	seed(f, "testdata/good/*.yaml", "testdata/bad/*.yaml", "example/cluster.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Load("cluster.yaml", data)
		if err != nil {
			if problems, ok := err.(Errors); !ok || len(problems) == 0 {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load("again.yaml", text)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzLoadFleet: no input panics, a loaded fleet marshals to a file that loads to the same, and so do its clusters.
func FuzzLoadFleet(f *testing.F) {
	seed(f, "testdata/fleet/good/*.yaml", "testdata/fleet/bad/*.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		fleet, err := LoadFleet("fleet.yaml", data)
		if err != nil {
			return
		}
		text, err := json.Marshal(fleet)
		if err != nil {
			t.Fatal(err)
		}
		again, err := LoadFleet("again.yaml", text)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		if diff := cmp.Diff(fleet, again); diff != "" {
			t.Fatal(diff)
		}
		c, err := fleet.Load("clusters/example-pg/cluster.yaml", []byte(base))
		if problems, _ := err.(Errors); err != nil && (len(problems) != 1 || problems[0].Path != "spec.publish.pullRequest.branch") {
			t.Fatal(err)
		}
		if err == nil && (c.Spec.Publish.Repository != fleet.Spec.Publish.Repository || c.Dir() != "clusters/example-pg") {
			t.Fatalf("%+v", c.Spec.Publish)
		}
	})
}

// FuzzImport: no input panics, and what Import writes is what Load takes, with the same meaning.
func FuzzImport(f *testing.F) {
	seed(f, "testdata/import/*.yaml")
	f.Add([]byte(everyOption))
	f.Fuzz(func(t *testing.T, data []byte) {
		im := importer{report: newReport("")}
		if im.read(data) != nil {
			return
		}
		text, err := im.text()
		if err != nil {
			t.Fatal(err)
		}
		mustLoadImported(t, text)
		if diff := cmp.Diff(im.cluster, newReport("").load(text)); diff != "" {
			t.Fatal(diff)
		}
	})
}
