package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/gitsync"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"example-pg-1 → é 日本 \\":                 "example-pg-1 → é 日本 \\",
		"a\x1b[31mb\nc\t\x7f":                    `a\x1b[31mb\x0ac\x09\x7f`,
		"a\u0085\u202eb\u2066\u200b\ufeff\u2028": `a\u0085\u202eb\u2066\u200b\ufeff\u2028`,
		"a\xffb\ufffd":                           "a\\xffb\ufffd",
		"\U000e0041":                             `\ue0041`,
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if again := printable(want); again != want {
			t.Errorf("%q: escaped twice: %q", want, again)
		}
	}
}

func TestCommandLinesCanBeTyped(t *testing.T) {
	if got, want := commandLine("render", "-f", "my clusters/it's.yaml", "--out", "a/b-1"), `poolwright render -f 'my clusters/it'\''s.yaml' --out a/b-1`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOnlyNearWordsAreSuggested(t *testing.T) {
	verbs := []string{"run", "render", "discover"}
	for word, want := range map[string]string{"rendr": "render", "discovr": "discover", "rum": "run", "ron": "run", "x": "", "reconcile": "", "cover": ""} {
		if got, ok := nearest(word, verbs); ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %s, %t; want %q", word, got, ok, want)
		}
	}
	if err := unknownCommand("explode", []string{"add", "kill"}); err.Error() != `no command "explode"; there are add, kill` {
		t.Error(err)
	}
}

// A file that cannot be written, here because a file stands where its directory must be.
func TestNothingChangesWhenNotEverythingCanBeStaged(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": "old", "z": "a file"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change := gitsync.Change{Put: map[string][]byte{"a.yaml": []byte("new"), "new/b.yaml": []byte("new"), "z/c.yaml": []byte("new")}, Delete: []string{"z"}}
	if err := writeDir(dir, change); err == nil {
		t.Fatal("no error")
	}
	got, err := os.ReadDir(dir)
	if err != nil || len(got) != 2 || got[0].Name() != "a.yaml" || got[1].Name() != "z" {
		t.Errorf("%v, %v", got, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.yaml")); err != nil || string(text) != "old" {
		t.Errorf("a.yaml: %s, %v", text, err)
	}
}

func TestProblemsOfSnapshotsAreShort(t *testing.T) {
	long := make([]byte, 5000)
	for i := range long {
		long[i] = 'x'
	}
	if text := snapshotProblem(errors.New("reading snapshot: " + string(long))); len(text) > maxProblem+3 {
		t.Error(len(text))
	}
	file := filepath.Join(t.TempDir(), "seen.yaml")
	if err := os.WriteFile(file, make([]byte, maxSnapshot+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSnapshot(file); err == nil || len(err.Error()) > maxProblem {
		t.Error(err)
	}
}
