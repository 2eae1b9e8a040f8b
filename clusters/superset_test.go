package clusters

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readFile(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// everyOption has every option of a PgBouncerAurora resource, none with its default.
const everyOption = `
apiVersion: pgbouncer-aurora.io/v1alpha1
kind: PgBouncerAurora
metadata: {name: example-pg, namespace: databases}
spec:
  discovery:
    clusterName: example
    domainName: xxxx.ap-northeast-2.rds.amazonaws.com
    port: 5433
    clusterEndpoints:
      writer: {host: w.example.com, port: 5434}
      reader: {host: r.example.com, port: 5435}
    database: app
    sslMode: verify-full
    authSecretRef: {name: auth}
    interval: 5s
    timeout: 4s
    failureThreshold: 4
  monitor: {interval: 20s, timeout: 5s, failureThreshold: 5, recoveryThreshold: 6}
  pgbouncer:
    image: registry.example.com/pgbouncer:1.24.1
    replicas: 2
    terminationGracePeriodSeconds: 60
    config:
      pgbouncer: {auth_type: scram-sha-256, auth_file: /etc/pgb/x, listen_addr: "*", listen_port: "6433", pidfile: /tmp/p}
      databases: {app: {pool_size: "10"}}
      users: {app: {pool_mode: session}}
      peers: {"1": {host: peer.example.com}}
    instanceOverrides:
      - name: example-pg-1
        enabled: false
        replicas: 3
        config:
          pgbouncer: {pool_mode: session}
          databases: {app: {pool_size: "5"}}
          users: {app: {pool_mode: statement}}
          peers: {"2": {host: peer2.example.com}}
    authFileSecretRef: {name: userlist}
    resources: {limits: {cpu: "1"}}
    labels: {a: b}
    annotations: {c: d}
    serviceAccountName: sa
    nodeSelector: {e: f}
    affinity: {nodeAffinity: {}}
    tolerations: [{operator: Exists}]
    priorityClassName: high
    runtimeClassName: gvisor
    podSecurityContext: {runAsNonRoot: true}
    containerSecurityContext: {privileged: false}
    livenessProbe: {periodSeconds: 7}
    readinessProbe: {periodSeconds: 8}
    sidecars: [{name: s}]
    volumes: [{name: v, emptyDir: {}}]
    volumeMounts: [{name: v, mountPath: /v}]
    imagePullSecrets: [{name: pull}]
    topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
  services:
    writer: {name: rw, type: NodePort, annotations: {g: h}}
    reader: {name: ro, type: LoadBalancer, annotations: {i: j}}
    perInstances: {type: NodePort, annotations: {k: l}}
  topologyPolicy:
    removeAfterMissingCount: 4
    removeAfterMissingSeconds: 11
    removedInstanceRetention: 2h
`

// The defaults of a PgBouncerAurora resource, as its documentation gives them.
func TestDefaultsAreThoseOfTheOperator(t *testing.T) {
	c := mustLoad(t, readFile(t, "testdata/good/minimal.yaml"))
	s := c.Spec
	got := map[string]any{
		"discovery.port":                             s.Discovery.Port,
		"discovery.clusterEndpoints.writer":          s.Discovery.ClusterEndpoints.Writer,
		"discovery.clusterEndpoints.reader":          s.Discovery.ClusterEndpoints.Reader,
		"discovery.database":                         s.Discovery.Database,
		"discovery.sslMode":                          s.Discovery.SSLMode,
		"discovery.interval":                         text(s.Discovery.Interval),
		"discovery.timeout":                          text(s.Discovery.Timeout),
		"discovery.failureThreshold":                 s.Discovery.FailureThreshold,
		"monitor.interval":                           text(s.Monitor.Interval),
		"monitor.timeout":                            text(s.Monitor.Timeout),
		"monitor.failureThreshold":                   s.Monitor.FailureThreshold,
		"monitor.recoveryThreshold":                  s.Monitor.RecoveryThreshold,
		"pgbouncer.replicas":                         *s.PgBouncer.Replicas,
		"pgbouncer.terminationGracePeriodSeconds":    *s.PgBouncer.TerminationGracePeriodSeconds,
		"pgbouncer.config.pgbouncer":                 s.PgBouncer.Config.PgBouncer,
		"pgbouncer.config.databases":                 s.PgBouncer.Config.Databases,
		"services.writer":                            s.Services.Writer,
		"services.reader":                            s.Services.Reader,
		"services.perInstances":                      s.Services.PerInstances,
		"topologyPolicy.removeAfterMissingCount":     s.TopologyPolicy.RemoveAfterMissingCount,
		"topologyPolicy.removeAfterMissingSeconds":   *s.TopologyPolicy.RemoveAfterMissingSeconds,
		"topologyPolicy.removedInstanceRetention":    text(s.TopologyPolicy.RemovedInstanceRetention),
		"failover window, fixed in the operator":     text(s.Failover.Window),
		"failover cadence, fixed in the operator":    text(s.Failover.FastInterval),
		"reader fallback, not optional there":        s.TopologyPolicy.ReaderFallback,
		"flag --rds-metadata-refresh-interval there": text(s.Discovery.RDS.RefreshInterval),
	}
	want := map[string]any{
		"discovery.port":                          5432,
		"discovery.clusterEndpoints.writer":       Endpoint{"example-pg.cluster-xxxx.ap-northeast-2.rds.amazonaws.com", 5432},
		"discovery.clusterEndpoints.reader":       Endpoint{"example-pg.cluster-ro-xxxx.ap-northeast-2.rds.amazonaws.com", 5432},
		"discovery.database":                      "postgres",
		"discovery.sslMode":                       "require",
		"discovery.interval":                      "3s",
		"discovery.timeout":                       "3s",
		"discovery.failureThreshold":              3,
		"monitor.interval":                        "10s",
		"monitor.timeout":                         "3s",
		"monitor.failureThreshold":                3,
		"monitor.recoveryThreshold":               2,
		"pgbouncer.replicas":                      1,
		"pgbouncer.terminationGracePeriodSeconds": 30,
		"pgbouncer.config.pgbouncer": map[string]Scalar{
			"auth_type": "md5", "auth_file": "/etc/pgbouncer/userlist.txt", "listen_addr": "0.0.0.0", "listen_port": "6432",
		},
		"pgbouncer.config.databases":                 map[string]map[string]Scalar{"*": {}},
		"services.writer":                            Service{Name: "writer", Type: "ClusterIP"},
		"services.reader":                            Service{Name: "reader", Type: "ClusterIP"},
		"services.perInstances":                      Service{Type: "ClusterIP"},
		"topologyPolicy.removeAfterMissingCount":     3,
		"topologyPolicy.removeAfterMissingSeconds":   10,
		"topologyPolicy.removedInstanceRetention":    "1h0m0s",
		"failover window, fixed in the operator":     "30s",
		"failover cadence, fixed in the operator":    "100ms",
		"reader fallback, not optional there":        "writer",
		"flag --rds-metadata-refresh-interval there": "1m0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func text(d Duration) string {
	b, _ := d.MarshalJSON()
	return strings.Trim(string(b), `"`)
}

func TestFloorsAreThoseOfTheOperator(t *testing.T) {
	c := mustLoad(t, readFile(t, "testdata/good/minimal.yaml")+`
  monitor: {interval: 10ms}
`)
	if got := text(c.Spec.Monitor.Interval); got != "1s" {
		t.Errorf("monitor.interval 10ms means %s, want 1s", got)
	}
	c = mustLoad(t, readFile(t, "testdata/good/empty-sections.yaml"))
	if got := text(c.Spec.Discovery.Interval); got != "1s" {
		t.Errorf("discovery.interval 100ms means %s, want 1s", got)
	}
	if got := text(c.Spec.Discovery.RDS.RefreshInterval); got != "10s" {
		t.Errorf("discovery.rds.refreshInterval 1s means %s, want 10s", got)
	}
}
