package clusters

import (
	"fmt"
	"strconv"
	"strings"
)

// validate checks what the schema cannot say. The file's defaults are filled in, the derived ones are not.
func (r *report) validate(c Cluster) {
	r.metadata(c.Metadata)
	r.discovery(c.Spec.Discovery)
	r.positive("spec.monitor.interval", c.Spec.Monitor.Interval)
	r.positive("spec.monitor.timeout", c.Spec.Monitor.Timeout)
	r.pgbouncer(c.Spec.PgBouncer)
	r.services(c)
	r.positive("spec.topologyPolicy.removedInstanceRetention", c.Spec.TopologyPolicy.RemovedInstanceRetention)
	r.failover(c.Spec.Failover, c.Spec.PgBouncer)
	r.label("spec.gitops.argocdNamespace", c.Spec.GitOps.ArgoCDNamespace)
	r.publish(c.Spec.Publish, c.Metadata.Name)
}

func (r *report) metadata(m Metadata) {
	if m.Name != "" && !serviceName.MatchString(m.Name) {
		r.wrong("metadata.name", "cannot start the name of a Service", "lower case letters, digits and hyphens, first a letter, last a letter or digit")
	}
	r.label("metadata.namespace", m.Namespace)
	r.labels("metadata.labels", m.Labels)
	r.labelKeys("metadata.annotations", m.Annotations)
}

// positive refuses a duration of zero.
func (r *report) positive(at string, d Duration) {
	if d == 0 {
		r.refuse(at, "must be more than 0s", "take the key out for the default")
	}
}

func (r *report) discovery(d Discovery) {
	const at = "spec.discovery"
	r.positive(at+".interval", d.Interval)
	r.positive(at+".timeout", d.Timeout)
	r.positive(at+".rds.refreshInterval", d.RDS.RefreshInterval)
	if d.Provider == "postgres" {
		r.postgres(at, d)
	} else {
		r.aurora(at, d)
	}
	r.hosts(at+".hosts", d.Hosts)
	r.addresses(at+".hosts", d)
	r.host(at+".clusterEndpoints.writer.host", d.ClusterEndpoints.Writer.Host)
	r.host(at+".clusterEndpoints.reader.host", d.ClusterEndpoints.Reader.Host)
	r.sources(at, d)
}

func (r *report) aurora(at string, d Discovery) {
	if d.ClusterName == "" {
		r.wrong(at+".clusterName", "is required with provider aurora", "the DB cluster identifier, such as example-pg")
	}
	r.label(at+".clusterName", d.ClusterName)
	switch {
	case d.DomainName == "":
		r.wrong(at+".domainName", "is required with provider aurora", "what follows the instance's name and a dot in an instance endpoint")
	case !domainName.MatchString(d.DomainName):
		r.wrong(at+".domainName", "is not a domain", "what follows the instance's name and a dot in an instance endpoint")
	}
}

// postgres refuses the fields that only an Aurora cluster has, so that none is silently without effect.
func (r *report) postgres(at string, d Discovery) {
	if len(d.Hosts) == 0 {
		r.wrong(at+".hosts", "is required with provider postgres", "name and host of every node")
	}
	aurora := map[string]bool{
		"clusterName":      d.ClusterName != "",
		"domainName":       d.DomainName != "",
		"clusterEndpoints": d.ClusterEndpoints != ClusterEndpoints{},
		"rds.region":       d.RDS.Region != "",
	}
	for _, key := range keys(aurora) {
		if aurora[key] {
			r.wrong(at+"."+key, "has no meaning with provider postgres", "take it out, or use provider aurora")
		}
	}
}

func (r *report) hosts(at string, hosts []Host) {
	seen := map[string]bool{}
	for i, h := range hosts {
		item := fmt.Sprintf("%s[%d]", at, i)
		r.label(item+".name", h.Name)
		r.host(item+".host", h.Host)
		if seen[h.Name] {
			r.wrong(item+".name", "is the name of an earlier host too", "")
		}
		seen[h.Name] = true
	}
}

// addresses: two names for one server would be two poolers in front of it, and a failover between them none.
func (r *report) addresses(at string, d Discovery) {
	seen := map[string]string{}
	for i, h := range d.Hosts {
		port := h.Port
		orInt(&port, d.Port)
		address := strings.ToLower(strings.TrimSuffix(h.Host, ".")) + " " + strconv.Itoa(port)
		if first, twice := seen[address]; twice && h.Host != "" {
			r.wrong(fmt.Sprintf("%s[%d].host", at, i), "is the address of "+first+" too: port "+strconv.Itoa(port), "one entry per server")
			continue
		}
		seen[address] = h.Name
	}
}

// host wants one address: a list, a port or a URL in it would be taken for a name.
func (r *report) host(at, host string) {
	if host != "" && !hostName.MatchString(host) {
		r.wrong(at, "is not one host", "one DNS name or IP address; the port has its own key")
	}
}

// sources wants at most one source of credentials.
func (r *report) sources(at string, d Discovery) {
	c := d.Credentials
	if c == nil {
		c = &Credentials{}
	}
	r.oneSource(at, []source{
		{"authSecretRef", d.AuthSecretRef != nil},
		{"credentials.env", c.Env != nil},
		{"credentials.file", c.File != nil},
		{"credentials.iamToken", c.IAMToken != nil},
	})
	r.source(at, d, *c)
}

// source is a key that credentials can come from.
type source struct {
	key string
	set bool
}

// oneSource returns the sources that are used, and refuses a second one.
func (r *report) oneSource(at string, all []source) (used []string) {
	for _, s := range all {
		if s.set {
			used = append(used, s.key)
		}
	}
	if len(used) > 1 {
		r.wrong(at+"."+used[1], "is a second source of credentials, besides "+used[0], "keep one of "+strings.Join(used, ", "))
	}
	return used
}

func (r *report) source(at string, d Discovery, c Credentials) {
	if d.AuthSecretRef != nil {
		r.object(at+".authSecretRef.name", d.AuthSecretRef.Name)
	}
	if c.Env != nil {
		r.variable(at+".credentials.env.userVar", c.Env.UserVar)
		r.variable(at+".credentials.env.passwordVar", c.Env.PasswordVar)
	}
	if plain := d.SSLMode == "disable" || d.SSLMode == "allow" || d.SSLMode == "prefer"; plain && c.IAMToken != nil {
		r.wrong(at+".sslMode", "is too weak for an IAM token", "RDS takes IAM tokens over TLS only: require, verify-ca or verify-full")
	}
}

func (r *report) variable(at, name string) {
	if name != "" && !variableName.MatchString(name) {
		r.wrong(at, "is not the name of an environment variable", "the name of the variable, not its value")
	}
}

func (r *report) services(c Cluster) {
	const at = "spec.services"
	s := c.Spec.Services
	r.service(at+".writer", c.WriterServiceName(), s.Writer)
	r.service(at+".reader", c.ReaderServiceName(), s.Reader)
	r.labelKeys(at+".perInstances.annotations", s.PerInstances.Annotations)
	if s.Writer.Name == s.Reader.Name {
		r.wrong(at+".reader.name", "is the writer's name too", "")
	}
	if s.PerInstances.Name != "" {
		r.wrong(at+".perInstances.name", "cannot be set", "an instance's Service is called <cluster>-<instance>")
	}
}

func (r *report) service(at, full string, s Service) {
	r.label(at+".name", s.Name)
	if len(full) > maxLabel {
		r.wrong(at+".name", fmt.Sprintf("makes a Service name of %d characters: %s", len(full), full), "at most 63; shorten metadata.name or this name")
	}
	r.labelKeys(at+".annotations", s.Annotations)
}
