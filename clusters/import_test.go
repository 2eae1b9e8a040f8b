package clusters

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImportedResources(t *testing.T) {
	each(t, "testdata/import/*.yaml", func(t *testing.T, file string, data []byte) {
		text, notes, err := Import(data)
		got := string(text)
		if err != nil {
			got = err.Error() + "\n"
		}
		for _, n := range notes {
			got += "# note: " + n + "\n"
		}
		golden(t, strings.TrimSuffix(file, ".yaml")+".cluster", got)
		if err == nil {
			mustLoadImported(t, text)
		}
	})
}

// mustLoadImported holds Import to its promise: Load asks for the image, for the version of PgBouncer, or for nothing.
func mustLoadImported(t *testing.T, text []byte) {
	t.Helper()
	_, err := Load("cluster.yaml", text)
	if problems, ok := err.(Errors); ok && len(problems) == 1 && (problems[0].Path == versionPath || problems[0].Path == imagePath) {
		return
	}
	if err != nil {
		t.Errorf("Load does not take what Import wrote:\n%s\n%v", text, err)
	}
}

func TestImportCarriesEveryValueOfTheOperatorsOptions(t *testing.T) {
	text, notes, err := Import([]byte(everyOption))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range notes {
		if strings.Contains(n, "not carried") {
			t.Error(n)
		}
	}
	same := strings.NewReplacer(importGroup+"v1alpha1", APIVersion, importKind, Kind).Replace(everyOption)
	want := mustLoad(t, same)
	if diff := cmp.Diff(want, mustLoad(t, string(text))); diff != "" {
		t.Error(diff)
	}
}

func TestImportKeepsComments(t *testing.T) {
	text, _, err := Import([]byte(readFile(t, filepath.Join("testdata", "import", "full.yaml"))))
	if err != nil {
		t.Fatal(err)
	}
	for _, comment := range []string{"# follow failover quickly", "# sized for 40 pods"} {
		if !strings.Contains(string(text), comment) {
			t.Errorf("%q is lost", comment)
		}
	}
}

func TestImportDoesNotRepeatCredentials(t *testing.T) {
	text, notes, err := Import([]byte(readFile(t, filepath.Join("testdata", "import", "full.yaml"))))
	if all := string(text) + strings.Join(notes, "\n"); err != nil || strings.Contains(all, "hunter2") {
		t.Errorf("err %v, text and notes:\n%s", err, all)
	}
}
