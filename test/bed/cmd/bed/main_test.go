package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for args, want := range map[string]options{
		"":                              {with: map[string]bool{}, command: []string{}},
		"--with flux":                   {with: map[string]bool{"flux": true}, command: []string{}},
		"--with argo,flux --dir /d":     {dir: "/d", with: map[string]bool{"flux": true, "argo": true}, command: []string{}},
		"--with proxy -- go test -race": {with: map[string]bool{"proxy": true}, command: []string{"go", "test", "-race"}},
		"kubectl get --dir x":           {with: map[string]bool{}, command: []string{"kubectl", "get", "--dir", "x"}},
	} {
		got, err := parse(strings.Fields(args))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("parse(%q) = %+v, %v; want %+v", args, got, err, want)
		}
		again, err := parse(got.arguments())
		if err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%q does not survive being passed on as %q: %+v, %v", args, got.arguments(), again, err)
		}
	}
}

func TestWrongUsageIsSaid(t *testing.T) {
	for _, args := range []string{"", "nothing", "run --with istio", "run --unknown", "build more", "ctl --dir /d", "ctl --dir /d halt etcd"} {
		code, err := dispatch(strings.Fields(args))
		if !errors.Is(err, errUsage) {
			t.Errorf("bed %s: exit code %d, error %v; want wrong usage", args, code, err)
		}
	}
}

func TestParseControl(t *testing.T) {
	t.Setenv("BED_DIR", "/d")
	for args, want := range map[string]string{
		"list":                         "list - KILL in /d",
		"--dir /e list":                "list - KILL in /e",
		"start etcd":                   "start etcd KILL in /d",
		"restart etcd":                 "restart etcd KILL in /d",
		"stop etcd":                    "stop etcd KILL in /d",
		"stop --signal STOP etcd":      "stop etcd STOP in /d",
		"stop etcd --signal=CONT":      "stop etcd CONT in /d",
		"stop":                         "",
		"stop etcd gitd":               "",
		"stop etcd --signal HUP":       "",
		"start etcd --signal STOP":     "",
		"restart etcd --signal STOP":   "",
		"list etcd --signal STOP more": "",
		"kill etcd":                    "",
	} {
		request, dir, err := parseControl(strings.Fields(args))
		got := request + " in " + dir
		if want == "" && errors.Is(err, errUsage) {
			continue
		}
		if err != nil || got != want {
			t.Errorf("parseControl(%q) = %q, %v; want %q", args, got, err, want)
		}
	}
}

func TestWorldHasTheFilesOfItsSets(t *testing.T) {
	set, dir := t.TempDir(), filepath.Join(t.TempDir(), "d")
	write(t, filepath.Join(set, "kubectl"), "a binary")
	write(t, filepath.Join(set, manifests, "crd.yaml"), "a manifest")
	got, err := prepare(dir, []string{set})
	if err != nil || got != dir {
		t.Fatalf("%q, %v", got, err)
	}
	for file, want := range map[string]string{"bin/kubectl": "a binary", "manifests/crd.yaml": "a manifest"} {
		if content, err := os.ReadFile(filepath.Join(dir, file)); string(content) != want {
			t.Errorf("%s is %q, %v; want %q", file, content, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "bin", "bed")); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(dir, "etcd", "member"), "")
	for _, wrong := range []string{dir, "/run/d"} {
		if _, err := prepare(wrong, nil); err == nil {
			t.Errorf("%s: no error", wrong)
		}
	}
}

func TestEnvironmentInside(t *testing.T) {
	t.Setenv("PATH", "/usr/bin")
	t.Setenv("KUBECONFIG", "/mine")
	env := inside("/d")
	for _, want := range []string{"BED_DIR=/d", "KUBECONFIG=/d/admin.kubeconfig", "PATH=/d/bin:/usr/bin:/usr/sbin:/sbin"} {
		name, _, _ := strings.Cut(want, "=")
		of := func(entry string) bool { return strings.HasPrefix(entry, name+"=") }
		if i := slices.IndexFunc(env, of); i < 0 || env[i] != want || slices.ContainsFunc(env[i+1:], of) {
			t.Errorf("the environment is %q, want %s in it, and no other", env, want)
		}
	}
}
