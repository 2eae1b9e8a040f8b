package driver

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/test/pgcluster"
)

// ClusterFile writes the Cluster file of cluster story for a test and returns its path.
func ClusterFile(t testing.TB, discovery, repository string, more ...string) string {
	t.Helper()
	return ClusterFileIn(t, "db", discovery, repository, more...)
}

// ClusterFileIn is ClusterFile for a namespace.
func ClusterFileIn(t testing.TB, namespace, discovery, repository string, more ...string) string {
	t.Helper()
	text := fmt.Sprintf(`apiVersion: poolwright.dev/v1alpha1
kind: Cluster
metadata: {name: story, namespace: %s}
spec:
  discovery:
%s
    interval: 1s
    timeout: 3s
  monitor: {interval: 1s, timeout: 3s}
  pgbouncer:
    image: registry.example.com/pgbouncer:1.24.1
    authFileSecretRef: {name: userlist}
  publish:
    repository: %s
%s
`, namespace, indent(discovery), repository, strings.Join(more, "\n"))
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func indent(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, l := range lines {
		lines[i] = "    " + l
	}
	return strings.Join(lines, "\n")
}

// Postgres is what a Cluster file says to discover servers as plain PostgreSQL.
func Postgres(c *pgcluster.Cluster) string { return "provider: postgres\n" + hosts(c) }

// Aurora is what a Cluster file says to discover servers that answer like Aurora.
func Aurora(c *pgcluster.Cluster) string {
	return "clusterName: story\ndomainName: aurora.invalid\n" + hosts(c)
}

func hosts(c *pgcluster.Cluster) string {
	var text strings.Builder
	text.WriteString("sslMode: disable\nhosts:\n")
	for _, n := range c.Nodes() {
		fmt.Fprintf(&text, "- {name: %s, host: %s, port: %d}\n", n.Name, n.Host, n.Port)
	}
	return text.String()
}

// YAMLValue is the value of a key on a line of its own, "" when it is not there.
func YAMLValue(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && k == key {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}

// Selector is the part of services.yaml that selects for one of the two Services, sorted: "key: value".
func Selector(services, role string) []string {
	for doc := range strings.SplitSeq(services, "\n---\n") {
		if YAMLValue(doc, "name") != "story-"+role {
			continue
		}
		_, after, _ := strings.Cut(doc, "  selector:\n")
		var keys []string
		for line := range strings.Lines(after) {
			switch trimmed := strings.TrimSpace(line); {
			case !strings.HasPrefix(line, "    "):
				slices.Sort(keys)
				return keys
			case !strings.HasPrefix(trimmed, "#"):
				key, _, _ := strings.Cut(trimmed, " #")
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		return keys
	}
	return nil
}
