package clusters

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file, or writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), -update rewrites it:\n%s", file, diff)
	}
}

// each runs a subtest for every file of a pattern, of which there must be some.
func each(t *testing.T, pattern string, test func(t *testing.T, file string, data []byte)) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			test(t, file, data)
		})
	}
}

func mustLoad(t *testing.T, text string) Cluster {
	t.Helper()
	c, err := Load("cluster.yaml", []byte(text))
	if err != nil {
		t.Fatalf("loading:\n%s\n%v", text, err)
	}
	return c
}

func marshal(t *testing.T, c Cluster) string {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestGoodFilesLoadWithTheirDefaults(t *testing.T) {
	each(t, "testdata/good/*.yaml", func(t *testing.T, file string, data []byte) {
		c := mustLoad(t, string(data))
		text, err := yaml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, strings.TrimSuffix(file, ".yaml")+".loaded", string(text))
	})
}

func TestLoadedFilesLoadToTheSame(t *testing.T) {
	again := func(t *testing.T, _ string, data []byte) {
		c := mustLoad(t, string(data))
		if diff := cmp.Diff(c, mustLoad(t, marshal(t, c))); diff != "" {
			t.Error(diff)
		}
	}
	each(t, "testdata/good/*.yaml", again)
	each(t, "example/cluster.yaml", again)
}

func TestBadFilesSayWhatIsWrong(t *testing.T) {
	each(t, "testdata/bad/*.yaml", func(t *testing.T, file string, data []byte) {
		_, err := Load(filepath.Base(file), data)
		if err == nil {
			t.Fatal("no error")
		}
		golden(t, strings.TrimSuffix(file, ".yaml")+".txt", err.Error()+"\n")
	})
}

func TestProblemsAreSortedByLine(t *testing.T) {
	each(t, "testdata/bad/*.yaml", func(t *testing.T, file string, data []byte) {
		_, err := Load(file, data)
		problems, ok := err.(Errors)
		if !ok {
			t.Fatalf("%T, want Errors", err)
		}
		for i, p := range problems[1:] {
			if p.Line < problems[i].Line {
				t.Errorf("line %d comes after line %d", p.Line, problems[i].Line)
			}
		}
	})
}
