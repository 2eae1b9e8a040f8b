package cmd

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/test/pgbouncer"
	"github.com/poolwright/poolwright/test/pgcluster"
)

// TestDoctorAsksThePoolersAsAnEvictionWill: real PgBouncers, in front of a real writer and a real standby.
func TestDoctorAsksThePoolersAsAnEvictionWill(t *testing.T) {
	databases := pgcluster.Start(t, pgcluster.Options{Nodes: []string{"a", "b"}})
	at := func(name string) string {
		return net.JoinHostPort(databases.Node(name).Host, strconv.Itoa(databases.Node(name).Port))
	}
	settings := map[string]string{"stats_users": "looker"}
	writer := pgbouncer.Start(t, pgbouncer.Options{Version: "1.24", Backend: at("a"), Settings: settings, Users: map[string]string{"looker": "p"}})
	standby := pgbouncer.Start(t, pgbouncer.Options{Version: "1.24", Backend: at("b")})
	secrets := t.TempDir()
	for name, user := range map[string][2]string{"admin": {pgbouncer.User, pgbouncer.Password}, "wrong": {pgbouncer.User, "wrong"}, "looker": {"looker", "p"}} {
		for file, text := range map[string]string{"username": user[0], "password": user[1]} {
			path := filepath.Join(secrets, name, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	used := pgbouncer.Start(t, pgbouncer.Options{Version: "1.24", Backend: at("a")})
	client, err := pgconn.Connect(t.Context(), used.DSN("postgres")) // so that the pooler has one connection to its server
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Exec(t.Context(), "SELECT 1").ReadAll(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close(context.Background()) }()
	for name, c := range map[string]struct {
		console, user string
		today         string // what the instance's name means, "" nothing
		version       string
		pod           string
		proof         *pgbouncer.Process
		want          string
	}{
		"the console answers":                    {console: "admin", user: pgbouncer.User, pod: writer.Host, want: "ok    consoles   1 of 1 poolers let poolwright administer them: PgBouncer 1.24.1"},
		"another version":                        {console: "admin", user: pgbouncer.User, pod: writer.Host, version: "1.26.1", want: "warn  consoles   the Cluster file says PgBouncer 1.26.1, the poolers are 1.24.1"},
		"the password is wrong":                  {console: "wrong", user: pgbouncer.User, pod: writer.Host, want: "fail  consoles   pod pooler: denied"},
		"who may look and not act":               {console: "looker", user: "looker", pod: writer.Host, want: "fail  consoles   pod pooler: the user may not administer it"},
		"the Secret is not mounted":              {console: "none", user: pgbouncer.User, pod: writer.Host, want: "fail  consoles   pod pooler: "},
		"the pod is out of reach":                {console: "admin", user: pgbouncer.User, pod: "127.9.9.9", want: "warn  consoles   pod pooler: unreachable"},
		"its connections are where the name is":  {console: "admin", user: pgbouncer.User, pod: used.Host, today: databases.Node("a").Host, want: "ok    backends   1 connections of the poolers go to where"},
		"incident-dns-cache, the name has moved": {console: "admin", user: pgbouncer.User, pod: used.Host, today: databases.Node("b").Host, want: "fail  backends   pod pooler: 1 of 1 connections go to " + databases.Node("a").Host + ", the oldest since "},
		"the name means nothing here":            {console: "admin", user: pgbouncer.User, pod: used.Host, want: "warn  backends   pod pooler: a.example of instance a means nothing here"},
		"writes reach the writer":                {proof: writer, want: "ok    proofs     writes at "},
		"who answers cannot write":               {proof: standby, want: "fail  proofs     writes at " + standby.Addr() + ": who answers cannot write"},
		"and reads are answered there":           {proof: standby, want: "ok    proofs     reads at "},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, benchState())
			d := storyDeclaration(t)
			d.Cluster.Spec.PgBouncer.Config.PgBouncer = map[string]clusters.Scalar{"listen_port": clusters.Scalar(strconv.Itoa(pgbouncer.Port))}
			d.Cluster.Spec.PgBouncer.Version = c.version
			login := func(secret string) clusters.PoolerLogin {
				return clusters.PoolerLogin{AuthSecretRef: &clusters.SecretRef{Name: secret}, SSLMode: "disable"}
			}
			if c.console != "" {
				d.Cluster.Spec.Failover.Console = &clusters.Console{User: c.user, PoolerLogin: login(c.console)}
			}
			if c.proof != nil {
				d.Cluster.Spec.Failover.Proof = &clusters.Proof{Database: "postgres", PoolerLogin: login("admin"), WriterAddress: c.proof.Addr(), ReaderAddress: c.proof.Addr()}
			}
			b.declared = &d
			b.onlyPod(c.pod)
			e := &exam{site: b.site, world: outside{Secrets: secrets, Getenv: os.Getenv, Now: time.Now, Lookup: meaning(c.today)}}
			e.state.Members = []plan.Member{{Name: "a", Host: "a.example"}}
			e.sight.Services = map[live.Role]*corev1.Service{live.Writer: b.service(live.Writer), live.Reader: b.service(live.Reader)}
			e.consoles(t.Context())
			e.proofs(t.Context())
			var out strings.Builder
			if err := writeFindings(&out, e.found); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("got\n%s\nwant %q", out.String(), c.want)
			}
		})
	}
}

// meaning resolves every name to one address.
func meaning(address string) func(context.Context, string) ([]string, error) {
	return func(context.Context, string) ([]string, error) {
		if address == "" {
			return nil, errors.New("no such host")
		}
		return []string{address}, nil
	}
}

// onlyPod is a bench with one pod that runs, at an address.
func (b *liveBench) onlyPod(address string) {
	b.t.Helper()
	pods := b.api.CoreV1().Pods("db")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pooler", Namespace: "db", Labels: map[string]string{"poolwright.dev/cluster": "story", "poolwright.dev/instance": "a"}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: net.ParseIP(address).String()},
	}
	if _, err := pods.Create(b.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}
