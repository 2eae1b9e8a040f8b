package pgcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMachineWithoutPostgreSQLIsToldWhatToDo(t *testing.T) {
	t.Setenv("PATH", "")
	_, err := findInstall(filepath.Join(t.TempDir(), "*/bin/postgres"))
	if err == nil || !strings.Contains(err.Error(), "make deps") {
		t.Errorf("error is %v, want one that names make deps", err)
	}
}

func TestPostgreSQL15ElseTheNewest(t *testing.T) {
	tests := []struct{ installed, want string }{
		{"13 15 17", "15"},
		{"9 13 17", "17"},
		{"14", "14"},
	}
	for _, tt := range tests {
		t.Run(tt.installed, func(t *testing.T) {
			dir := t.TempDir()
			for version := range strings.FieldsSeq(tt.installed) {
				bin := filepath.Join(dir, version, "bin")
				if err := os.MkdirAll(bin, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(bin, "postgres"), nil, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			want := filepath.Join(dir, tt.want, "bin")
			if got := findBin(filepath.Join(dir, "*/bin/postgres")); got != want {
				t.Errorf("found %s, want %s", got, want)
			}
		})
	}
}
