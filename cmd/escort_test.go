package cmd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/evict"
	"github.com/poolwright/poolwright/live/pooler"
	prove "github.com/poolwright/poolwright/live/proof"
)

func TestWhereAProofAsks(t *testing.T) {
	service := func(ip string) *corev1.Service { return &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: ip}} }
	for name, c := range map[string]struct {
		declared string
		svc      *corev1.Service
		want     string
	}{
		"the Service's cluster IP":           {svc: service("10.96.0.7"), want: "10.96.0.7:6432"},
		"one of the other family":            {svc: service("fd00::7"), want: "[fd00::7]:6432"},
		"where the Cluster file says":        {declared: "pools.example.com:7000", svc: service("10.96.0.7"), want: "pools.example.com:7000"},
		"nowhere, before there is a Service": {declared: "pools.example.com:7000"},
		"nowhere, while it has no IP":        {svc: service("")},
		"nowhere, when it is headless":       {svc: service("None")},
	} {
		if got := proofAddress(c.declared, c.svc, 6432); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestHowAPoolerIsLoggedInTo(t *testing.T) {
	dir := t.TempDir()
	write := func(secret, file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, secret), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, secret, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("console", "password", "s3cret\n")
	write("app", "username", "app\n")
	write("app", "password", "p\n")
	write("old", "user", "app")
	write("old", "password", "p")
	env := map[string]string{"APP": "app", "PW": "p"}
	o := outside{Secrets: dir, Getenv: func(key string) string { return env[key] }, Now: time.Now}
	secret := func(name string) clusters.PoolerLogin {
		return clusters.PoolerLogin{AuthSecretRef: &clusters.SecretRef{Name: name}}
	}
	variables := func(user, password string) clusters.PoolerLogin {
		return clusters.PoolerLogin{Credentials: &clusters.PoolerCredentials{Env: &clusters.PoolerEnv{UserVar: user, PasswordVar: password}}}
	}
	for name, c := range map[string]struct {
		login      clusters.PoolerLogin
		want, fail string
	}{
		"a Secret with a password alone": {login: secret("console"), want: " s3cret"},
		"a Secret with both":             {login: secret("app"), want: "app p"},
		"a Secret that says user":        {login: secret("old"), want: "app p"},
		"a Secret that is not mounted":   {login: secret("none"), fail: "reading the password: "},
		"variables":                      {login: variables("APP", "PW"), want: "app p"},
		"a variable that is not set":     {login: variables("APP", "NONE"), fail: "environment variable NONE is not set"},
		"a directory":                    {login: clusters.PoolerLogin{Credentials: &clusters.PoolerCredentials{File: &clusters.FileCredentials{Directory: filepath.Join(dir, "app")}}}, want: "app p"},
	} {
		user, password, err := o.poolerSecret(c.login)()
		switch {
		case c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)):
			t.Errorf("%s: the error is %v, want one with %q", name, err, c.fail)
		case c.fail == "" && (err != nil || user+" "+password != c.want):
			t.Errorf("%s: %q (%v), want %q", name, user+" "+password, err, c.want)
		}
	}
	config := o.pooler(secret("console"), func(_, password string) (string, string, error) { return "poolwright", password, nil })
	if user, password, err := config.Credentials(t.Context()); user != "poolwright" || password != "s3cret" || err != nil {
		t.Errorf("the console's login is %q %q (%v)", user, password, err)
	}
}

// TestAProofIsAskedAtOnceWhenTheWriterServiceMoves: and every half minute else.
func TestAProofIsAskedAtOnceWhenTheWriterServiceMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var asked atomic.Int32
		e := &escort{asks: &clusters.Proof{}, port: 6432, runner: evict.New(evict.Config{})}
		e.prover = prove.New(prove.Config{
			Interval: 30 * time.Second,
			Ask: func(_ context.Context, a pooler.Access, address string) pooler.Proof {
				if a == pooler.Writes && address == "10.96.0.1:6432" {
					asked.Add(1)
				}
				return pooler.Proof{Access: a, At: time.Now(), Outcome: pooler.Proven}
			},
		})
		done := make(chan struct{})
		go func() { e.run(ctx); close(done) }()
		see := func(writer string) {
			svc := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.1", Selector: map[string]string{"poolwright.dev/instance": writer}}}
			e.see(live.Sight{Services: map[live.Role]*corev1.Service{live.Writer: svc}}, live.Want{To: writer})
			synctest.Wait()
		}
		see("a")
		see("a")
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times at the beginning, want 1", n)
		}
		time.Sleep(31 * time.Second)
		see("b")
		if n := asked.Load(); n != 3 {
			t.Errorf("asked %d times, want 3: at the beginning, after 30 s, and for the new writer", n)
		}
		cancel()
		<-done
	})
}

// TestAnEscortIsMadeAnewWhenTheFileSaysSo: what it is made of decides, and nothing else.
func TestAnEscortIsMadeAnewWhenTheFileSaysSo(t *testing.T) {
	d := storyDeclaration(t)
	key := escortKey(d)
	other := d
	other.Cluster.Spec.Failover.Window = clusters.Duration(time.Hour)
	if escortKey(other) != key {
		t.Error("the window makes another escort")
	}
	other.Cluster.Spec.Failover.Evict = "deletePods"
	if escortKey(other) == key {
		t.Error("failover.evict does not make another escort")
	}
	other = d
	other.Cluster.Spec.Failover.Proof = &clusters.Proof{Table: "public.proof"}
	if escortKey(other) == key {
		t.Error("failover.proof does not make another escort")
	}
}
