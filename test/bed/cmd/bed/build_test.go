package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestKeyFollowsWhatGoesIntoTheSet(t *testing.T) {
	root := t.TempDir()
	for file, content := range map[string]string{
		"m/go.mod": "module m\n", "m/go.sum": "", "m/cmd/a/main.go": "package main\n", "m/cmd/b/main.go": "package main\n",
		"m/cmd/a/main_test.go": "package main\n",
	} {
		write(t, filepath.Join(root, file), content)
	}
	s := set{name: "s", module: "m", packages: []string{"./cmd/a"}, sources: []string{"cmd/a"}}
	key := func(s set, goVersion string) string {
		t.Helper()
		k, err := s.key(root, goVersion)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := key(s, "go1")
	if again := key(s, "go1"); again != first {
		t.Errorf("the same gave %s, then %s", first, again)
	}
	for _, file := range []string{"m/cmd/b/main.go", "m/cmd/a/main_test.go"} {
		write(t, filepath.Join(root, file), "package main // changed\n")
		if got := key(s, "go1"); got != first {
			t.Errorf("%s is not part of the set, yet the key changed", file)
		}
	}
	seen := map[string]string{first: "the first"}
	differs := func(what, k string) {
		t.Helper()
		if same, ok := seen[k]; ok {
			t.Errorf("%s has the key of %s", what, same)
		}
		seen[k] = what
	}
	differs("another Go", key(s, "go2"))
	other := s
	other.toolchain = "go3"
	differs("another toolchain", key(other, "go1"))
	other = s
	other.packages = []string{"./cmd/a", "./cmd/b"}
	differs("another package", key(other, "go1"))
	for _, file := range []string{"m/go.mod", "m/go.sum", "m/cmd/a/main.go", "m/cmd/a/more.go"} {
		write(t, filepath.Join(root, file), "module m // changed "+file+"\n")
		differs("a change of "+file, key(s, "go1"))
	}
	if err := os.Remove(filepath.Join(root, "m/go.sum")); err != nil {
		t.Fatal(err)
	}
	if k, err := s.key(root, "go1"); err == nil {
		t.Errorf("without go.sum the key is %s, want an error", k)
	}
}

func TestSourceIsFoundFromWithinTheTree(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Dir(filepath.Dir(here))
	for _, dir := range []string{here, want, filepath.Dir(filepath.Dir(want))} {
		t.Chdir(dir)
		if got, err := source(); err != nil || got != want {
			t.Errorf("from %s: %q, %v; want %q", dir, got, err, want)
		}
	}
	t.Chdir(t.TempDir())
	if got, err := source(); err == nil {
		t.Errorf("from elsewhere: %q, want an error", got)
	}
}

func TestEverySetIsOfAModuleOfTheBed(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, s := range sets() {
		if _, err := s.key(root, ""); err != nil {
			t.Errorf("set %s: %v", s.name, err)
		}
		for _, dir := range s.sources {
			if found, _ := filepath.Glob(filepath.Join(root, s.module, dir, "*.go")); len(found) == 0 {
				t.Errorf("set %s: no sources in %s", s.name, dir)
			}
		}
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
