package pgbouncer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMachineWithoutPgBouncerIsToldWhatToDo(t *testing.T) {
	_, err := find(t.TempDir(), "1.24")
	if err == nil || !strings.Contains(err.Error(), "make deps") {
		t.Errorf("error is %v, want one that names make deps", err)
	}
}

func TestTheNewestOfALineElseTheExactOne(t *testing.T) {
	cache := t.TempDir()
	for _, version := range []string{"1.2.9", "1.24.1", "1.24.9", "1.24.10", "1.26.1", "new-123"} {
		if err := os.Mkdir(filepath.Join(cache, version), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for want, is := range map[string]string{"1.24": "1.24.10", "1.24.1": "1.24.1", "1.2": "1.2.9", "1.26": "1.26.1"} {
		got, err := find(cache, want)
		if err != nil || filepath.Base(got) != is {
			t.Errorf("%s is %s, %v; want %s", want, got, err, is)
		}
	}
}
