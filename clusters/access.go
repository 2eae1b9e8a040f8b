package clusters

import (
	"slices"
	"strconv"
	"time"
)

// Dir is the cluster's directory in the repository: publish.path, after Load never empty.
func (c Cluster) Dir() string { return c.Spec.Publish.Path }

// WriterServiceName is <cluster>-<services.writer.name>.
func (c Cluster) WriterServiceName() string {
	return c.Metadata.Name + "-" + c.Spec.Services.Writer.Name
}

// ReaderServiceName is <cluster>-<services.reader.name>.
func (c Cluster) ReaderServiceName() string {
	return c.Metadata.Name + "-" + c.Spec.Services.Reader.Name
}

// PatchesServices says whether a failover moves the live Services ahead of Git: failover.patchServices, true unless a person
// says otherwise.
func (c Cluster) PatchesServices() bool {
	return c.Spec.Failover.PatchServices == nil || *c.Spec.Failover.PatchServices
}

// Override is what holds for one instance. Without an entry of its own it is enabled, has the cluster's replicas and changes
// nothing in the configuration. After Load, Enabled and Replicas are never nil.
func (c Cluster) Override(instance string) InstanceOverride {
	list := c.Spec.PgBouncer.InstanceOverrides
	if i := slices.IndexFunc(list, func(o InstanceOverride) bool { return o.Name == instance }); i >= 0 {
		return list[i]
	}
	enabled := true
	return InstanceOverride{Name: instance, Enabled: &enabled, Replicas: c.Spec.PgBouncer.Replicas}
}

// ListenPort is the port of every PgBouncer and every Service: config.pgbouncer.listen_port, after Load always a port.
func (p PgBouncer) ListenPort() int {
	port, _ := strconv.Atoi(string(p.Config.PgBouncer["listen_port"])) // Load has checked it
	return port
}

// The times of a pod that leaves: endpointsLag is what everybody needs to hear that it does, finishing what its transactions
// have after the last client was told.
const (
	endpointsLag = 5 * time.Second
	finishing    = 10 * time.Second
)

// DrainTime is how long a pod that leaves goes on serving, in whole seconds: drain, else what the grace period has beyond 10 s,
// and at least 5 s, which everybody needs to hear of it.
func (p PgBouncer) DrainTime() time.Duration {
	if p.Drain > 0 {
		return time.Duration(p.Drain)
	}
	return max(p.GracePeriod()-finishing, endpointsLag)
}

// GracePeriod is terminationGracePeriodSeconds.
func (p PgBouncer) GracePeriod() time.Duration {
	return time.Duration(*p.TerminationGracePeriodSeconds) * time.Second
}
