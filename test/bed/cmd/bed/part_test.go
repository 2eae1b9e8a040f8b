package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// sleeper is a part that writes a line when it starts and then sleeps.
func sleeper(t *testing.T) *part {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "log"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := newPart(spec{name: "sleeper", argv: []string{"sh", "-c", "echo started; exec sleep 1000"}}, dir)
	p.ready = func(context.Context) error {
		if log, err := os.ReadFile(p.log); err != nil || !bytes.HasSuffix(log, []byte("started\n")) {
			return errors.New("not yet")
		}
		return nil
	}
	t.Cleanup(func() {
		if err := p.signal(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestControlOfAPart(t *testing.T) {
	p := sleeper(t)
	pid := func() string { return strings.TrimPrefix(p.state(), "up ") }
	do := func(request string) {
		t.Helper()
		if answer, err := obey(strings.Fields(request), []*part{p}); err != nil || answer != "" {
			t.Fatalf("%s: %q, %v", request, answer, err)
		}
	}
	do("start sleeper KILL")
	first := pid()
	do("start sleeper KILL")
	if got := pid(); got != first {
		t.Errorf("started twice, it is process %s instead of %s", got, first)
	}
	do("stop sleeper STOP")
	do("stop sleeper CONT")
	do("restart sleeper KILL")
	if got := pid(); got == first {
		t.Errorf("restarted, it is still process %s", got)
	}
	do("stop sleeper TERM")
	if got := p.state(); got != "down" {
		t.Errorf("stopped, it is %s", got)
	}
	do("stop sleeper KILL")
	if got, err := obey([]string{"list", "-", "KILL"}, []*part{p}); err != nil || got != "sleeper down\n" {
		t.Errorf("list: %q, %v", got, err)
	}
	for _, request := range []string{"stop sleeper STOP", "stop nobody KILL", "halt sleeper KILL", "stop sleeper", ""} {
		if _, err := obey(strings.Fields(request), []*part{p}); err == nil {
			t.Errorf("%q: no error", request)
		}
	}
}

func TestPartThatEndsByItselfIsStartedAgain(t *testing.T) {
	p := sleeper(t)
	if err := p.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	first, ended := p.cmd.Process, p.ended
	p.mu.Unlock()
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	again := func(context.Context) error {
		if state := p.state(); !strings.HasPrefix(state, "up ") {
			return errors.New(state)
		}
		return nil
	}
	if err := await(t.Context(), again); err != nil {
		t.Error(err)
	}
}

func TestPKI(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pki"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writePKI(dir); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "pki", "apiserver.crt"), filepath.Join(dir, "pki", "apiserver.key"))
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(filepath.Join(dir, "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	for _, name := range []string{"127.0.0.1", "10.200.0.1", "10.96.0.1", "kubernetes.default.svc"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
			t.Errorf("as %s: %v", name, err)
		}
	}
	tokens, err := os.ReadFile(filepath.Join(dir, "pki", "tokens.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"admin-token,admin,0,\"system:masters\"\n", "scheduler-token,system:kube-scheduler,2\n"} {
		if !strings.Contains(string(tokens), want) {
			t.Errorf("the tokens are %q, want %q among them", tokens, want)
		}
	}
}

func TestPartThatEndsAgainAndAgainIsGivenUp(t *testing.T) {
	p := sleeper(t)
	p.ends = enough
	if err := p.awaitReady(t.Context()); err == nil {
		t.Error("no error")
	}
}
