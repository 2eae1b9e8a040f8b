package clusters

import (
	"cmp"
	"strconv"
	"strings"
)

// Default is one row of the table of defaults.
type Default struct {
	Path  string // dotted, from the root of the file
	Value any    // string, int, bool or an empty map
}

// Defaults is every constant default, sorted by path. Defaults that follow from another field are in derive.
func Defaults() []Default {
	return []Default{
		{"spec.discovery.database", "postgres"},
		{"spec.discovery.failureThreshold", 3},
		{"spec.discovery.interval", "3s"},
		{"spec.discovery.mode", "regional"},
		{"spec.discovery.port", 5432},
		{"spec.discovery.provider", "aurora"},
		{"spec.discovery.rds.refreshInterval", "1m0s"},
		{"spec.discovery.sslMode", "require"},
		{"spec.discovery.timeout", "3s"},
		{"spec.failover.evictWithin", "5s"},
		{"spec.failover.fastInterval", "100ms"},
		{"spec.failover.maxWindow", "10m0s"},
		{"spec.failover.patchServices", true},
		{"spec.failover.propagation", "2s"},
		{"spec.failover.window", "30s"},
		{"spec.gitops.argocdNamespace", "argocd"},
		{"spec.monitor.failureThreshold", 3},
		{"spec.monitor.interval", "10s"},
		{"spec.monitor.recoveryThreshold", 2},
		{"spec.monitor.timeout", "3s"},
		{"spec.pgbouncer.config.pgbouncer.auth_file", "/etc/pgbouncer/userlist.txt"},
		{"spec.pgbouncer.config.pgbouncer.auth_type", "md5"},
		{"spec.pgbouncer.config.pgbouncer.listen_addr", "0.0.0.0"},
		{"spec.pgbouncer.config.pgbouncer.listen_port", "6432"},
		{"spec.pgbouncer.replicas", 1},
		{"spec.pgbouncer.terminationGracePeriodSeconds", 30},
		{"spec.publish.author.email", "poolwright@localhost"},
		{"spec.publish.author.name", "poolwright"},
		{"spec.publish.branch", "main"},
		{"spec.publish.policy.config", "commit"},
		{"spec.publish.policy.failover", "commit"},
		{"spec.publish.policy.membership", "commit"},
		{"spec.publish.policy.scale", "commit"},
		{"spec.publish.via", "git"},
		{"spec.services.perInstances.type", "ClusterIP"},
		{"spec.services.reader.name", "reader"},
		{"spec.services.reader.type", "ClusterIP"},
		{"spec.services.writer.name", "writer"},
		{"spec.services.writer.type", "ClusterIP"},
		{"spec.topologyPolicy.readerFallback", "writer"},
		{"spec.topologyPolicy.removeAfterMissingCount", 3},
		{"spec.topologyPolicy.removeAfterMissingSeconds", 10},
		{"spec.topologyPolicy.removedInstanceRetention", "1h0m0s"},
	}
}

// Floors of intervals, as in PgBouncerAurora: a shorter interval means the floor.
const (
	intervalFloor = Duration(1e9)  // discovery.interval, monitor.interval, failover.proof.interval
	refreshFloor  = Duration(10e9) // discovery.rds.refreshInterval
)

// derive fills the defaults that follow from other fields.
func derive(c *Cluster) {
	deriveDiscovery(&c.Spec.Discovery)
	c.Spec.Monitor.Interval = max(c.Spec.Monitor.Interval, intervalFloor)
	derivePgBouncer(&c.Spec.PgBouncer)
	deriveFailover(&c.Spec.Failover, c.Spec.PgBouncer)
	derivePublish(&c.Spec.Publish, c.Metadata.Name)
}

func deriveDiscovery(d *Discovery) {
	d.Interval = max(d.Interval, intervalFloor)
	d.RDS.RefreshInterval = max(d.RDS.RefreshInterval, refreshFloor)
	if d.Provider == "aurora" {
		deriveEndpoint(&d.ClusterEndpoints.Writer, d.ClusterName+".cluster-"+d.DomainName, d.Port)
		deriveEndpoint(&d.ClusterEndpoints.Reader, d.ClusterName+".cluster-ro-"+d.DomainName, d.Port)
	}
	for i := range d.Hosts {
		orInt(&d.Hosts[i].Port, d.Port)
	}
	deriveCredentials(d)
}

func deriveEndpoint(e *Endpoint, host string, port int) {
	orText(&e.Host, host)
	orInt(&e.Port, port)
}

// deriveCredentials: no source at all means the environment.
func deriveCredentials(d *Discovery) {
	if d.AuthSecretRef == nil && d.Credentials == nil {
		d.Credentials = &Credentials{Env: &EnvCredentials{}}
	}
	if d.Credentials != nil && d.Credentials.Env != nil {
		orText(&d.Credentials.Env.UserVar, "PGUSER")
		orText(&d.Credentials.Env.PasswordVar, "PGPASSWORD")
	}
}

func derivePgBouncer(p *PgBouncer) {
	if len(p.Config.Databases) == 0 {
		p.Config.Databases = map[string]map[string]Scalar{"*": {}}
	}
	for i := range p.InstanceOverrides {
		o := &p.InstanceOverrides[i]
		if o.Enabled == nil {
			yes := true
			o.Enabled = &yes
		}
		if o.Replicas == nil && p.Replicas != nil {
			n := *p.Replicas
			o.Replicas = &n
		}
	}
}

func deriveFailover(f *Failover, p PgBouncer) {
	if f.Console != nil {
		orText(&f.Evict, "console")
		orText(&f.Console.User, consoleUser)
		orText(&f.Console.SSLMode, "prefer")
	}
	orText(&f.Evict, "none")
	if f.Proof != nil {
		deriveProof(f.Proof, p)
	}
}

// consoleUser is console.user unless a person says otherwise.
const consoleUser = "poolwright"

func deriveProof(proof *Proof, p PgBouncer) {
	if proof.Interval == 0 {
		proof.Interval = Duration(30e9)
	}
	proof.Interval = max(proof.Interval, intervalFloor)
	orText(&proof.SSLMode, "prefer")
	for _, name := range keys(p.Config.Databases) {
		if isDatabase(name) {
			orText(&proof.Database, name)
		}
	}
	orText(&proof.Database, "postgres")
	for _, address := range []*string{&proof.WriterAddress, &proof.ReaderAddress} {
		if host, port, _ := splitAddress(*address); host != "" {
			*address = joinAddress(host, cmp.Or(port, strconv.Itoa(p.ListenPort())))
		}
	}
}

func derivePublish(p *Publish, name string) {
	orText(&p.Path, "clusters/"+name)
	derivePublishTo(&p.PublishTo)
	if p.Forge != nil {
		derivePullRequest(&p.PullRequest, name)
	}
}

func derivePullRequest(p *PullRequest, name string) {
	orText(&p.Branch, "poolwright/"+name)
	orText(&p.Merge, "byPeople")
	if p.Merge != "byPeople" {
		orText(&p.Method, "squash")
	}
}

func derivePublishTo(p *PublishTo) {
	orText(&p.Committer.Name, p.Author.Name)
	orText(&p.Committer.Email, p.Author.Email)
	if p.Auth.TokenEnv != "" || p.Auth.TokenFile != "" {
		orText(&p.Auth.TokenType, "basic")
	}
	if p.Auth.TokenType == "basic" {
		orText(&p.Auth.Username, "x-access-token")
	}
	if p.Forge != nil {
		deriveForge(p.Forge, *p)
	}
}

// deriveForge: the API is asked as whom Git logs in, unless a person says otherwise.
func deriveForge(f *Forge, p PublishTo) {
	f.API = apiOf(*f)
	orText(&f.Repository, ownerAndName(f.API, p.Repository))
	orText(&f.CAFile, p.Auth.CAFile)
	if f.Auth == (ForgeAuth{}) {
		f.Auth = p.Auth.forForge()
	}
}

func orText(s *string, otherwise string) {
	if *s == "" {
		*s = otherwise
	}
}

func orInt(n *int, otherwise int) {
	if *n == 0 {
		*n = otherwise
	}
}

// fill puts defaults into a decoded file where the file has no value.
func fill(tree map[string]any, defaults []Default) {
	for _, d := range defaults {
		fillOne(tree, strings.Split(d.Path, "."), d.Value)
	}
}

func fillOne(m map[string]any, keys []string, value any) {
	last := len(keys) - 1
	for _, k := range keys[:last] {
		m = mapping(m, k)
	}
	if _, ok := m[keys[last]]; !ok {
		m[keys[last]] = value
	}
}
