package clusters

// APIVersion and Kind of a Cluster file.
const (
	APIVersion = "poolwright.dev/v1alpha1"
	Kind       = "Cluster"
)

// Cluster is one declared database cluster: one file, one directory in Git.
type Cluster struct {
	// APIVersion is poolwright.dev/v1alpha1. Required. Source: poolwright.
	APIVersion string `json:"apiVersion" jsonschema:"enum=poolwright.dev/v1alpha1"`
	// Kind is Cluster. Required. Source: poolwright.
	Kind string `json:"kind" jsonschema:"enum=Cluster"`
	// Metadata names the generated objects. Required. Source: PgBouncerAurora.
	Metadata Metadata `json:"metadata"`
	// Spec is what the cluster should be. Required. Source: PgBouncerAurora.
	Spec Spec `json:"spec"`
}

// Metadata names the generated objects.
type Metadata struct {
	// Name starts the name of every generated object: lower case letters, digits and hyphens, first a letter, short enough for
	// <name>-<service> to have at most 63 characters. Required. Source: PgBouncerAurora.
	Name string `json:"name" jsonschema:"minLength=1"`
	// Namespace of every generated object. Required. Source: PgBouncerAurora.
	Namespace string `json:"namespace" jsonschema:"minLength=1"`
	// Labels go to the metadata of every generated object, never into a selector. Default none. Source: poolwright.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations go to the metadata of every generated object. Default none. Source: poolwright.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Spec is what a person declares.
type Spec struct {
	// Discovery says where and how to ask who is the writer. Required. Source: PgBouncerAurora.
	Discovery Discovery `json:"discovery"`
	// Monitor is the health check of every backend. Default: see its fields. Source: PgBouncerAurora.
	Monitor Monitor `json:"monitor,omitzero"`
	// PgBouncer is the pooler of every instance. Required. Source: PgBouncerAurora.
	PgBouncer PgBouncer `json:"pgbouncer"`
	// Services are the Services' names, types and annotations. Default: see its fields. Source: PgBouncerAurora.
	Services Services `json:"services,omitzero"`
	// TopologyPolicy is about instances that come and go. Default: see its fields. Source: PgBouncerAurora.
	TopologyPolicy TopologyPolicy `json:"topologyPolicy,omitzero"`
	// Failover is how closely a failover is watched, and what is done besides the commit. Default: see its fields.
	// Source: poolwright (fixed values in PgBouncerAurora).
	Failover Failover `json:"failover,omitzero"`
	// GitOps is about the tool that applies the generated files. Default: see its fields. Source: poolwright.
	GitOps GitOps `json:"gitops,omitzero"`
	// Publish is where the generated files go and how. Default: nothing is published. Source: poolwright.
	Publish Publish `json:"publish,omitzero"`
	// Paused stops every commit and every live change; alerts go on. Default false. Source: poolwright.
	Paused bool `json:"paused,omitempty"`
}

// SecretRef names an object of the cluster's namespace.
type SecretRef struct {
	// Name of the Secret. Required. Source: PgBouncerAurora.
	Name string `json:"name" jsonschema:"minLength=1"`
}

// Monitor is the health check of every backend: a direct connection, never through the pooler.
type Monitor struct {
	// Interval between two checks, a Go duration; below 1s means 1s. Default 10s. Source: PgBouncerAurora.
	Interval Duration `json:"interval,omitempty"`
	// Timeout of one probe, a Go duration. Default 3s. Source: PgBouncerAurora.
	Timeout Duration `json:"timeout,omitempty"`
	// FailureThreshold is the count of consecutive failures after which a healthy reader is unhealthy. Default 3.
	// Source: PgBouncerAurora.
	FailureThreshold int `json:"failureThreshold,omitempty" jsonschema:"minimum=1"`
	// RecoveryThreshold is the count of consecutive successes after which a reader is healthy. Default 2.
	// Source: PgBouncerAurora.
	RecoveryThreshold int `json:"recoveryThreshold,omitempty" jsonschema:"minimum=1"`
}

// Services are the Services in front of the poolers.
type Services struct {
	// Writer is the Service in front of the writer's pooler. Default: see its fields. Source: PgBouncerAurora.
	Writer Service `json:"writer,omitzero"`
	// Reader is the Service in front of the readers' poolers. Default: see its fields. Source: PgBouncerAurora.
	Reader Service `json:"reader,omitzero"`
	// PerInstances is every instance's own Service; its name follows from the instance and cannot be set.
	// Default: see its fields. Source: PgBouncerAurora.
	PerInstances Service `json:"perInstances,omitzero"`
}

// Service is one kind of Service.
type Service struct {
	// Name is a suffix: the Service is called <cluster>-<name>, at most 63 characters. Default writer or reader.
	// Source: PgBouncerAurora.
	Name string `json:"name,omitempty"`
	// Type of the Service. Default ClusterIP. Source: PgBouncerAurora.
	Type string `json:"type,omitempty" jsonschema:"enum=ClusterIP,enum=NodePort,enum=LoadBalancer"`
	// Annotations of the Service. Default none. Source: PgBouncerAurora.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// TopologyPolicy is about instances that come and go.
type TopologyPolicy struct {
	// RemoveAfterMissingCount is the count of consecutive trusted observations without an instance before it loses traffic.
	// Default 3. Source: PgBouncerAurora.
	RemoveAfterMissingCount int `json:"removeAfterMissingCount,omitempty" jsonschema:"minimum=1"`
	// RemoveAfterMissingSeconds is the time in seconds since the first such observation; both must have passed.
	// 0 leaves the count alone to decide. Default 10. Source: PgBouncerAurora.
	RemoveAfterMissingSeconds *int `json:"removeAfterMissingSeconds,omitempty" jsonschema:"minimum=0"`
	// RemovedInstanceRetention is how long a removed instance's files stay, a Go duration. Default 1h. Source: PgBouncerAurora.
	RemovedInstanceRetention Duration `json:"removedInstanceRetention,omitempty"`
	// ReaderFallback says what stands behind the Reader Service when no reader can serve: the writer, nothing, or the writer only
	// when the cluster has no reader at all. Default writer. Source: poolwright (always writer in PgBouncerAurora).
	ReaderFallback string `json:"readerFallback,omitempty" jsonschema:"enum=writer,enum=none,enum=only-when-absent"`
	// AllowShrink is a person's reason to let one step remove more than half of the instances; take it out again afterwards.
	// Default empty: not allowed. Source: poolwright.
	AllowShrink string `json:"allowShrink,omitempty"`
}

// GitOps is about the tool that applies the generated files.
type GitOps struct {
	// ArgoCDNamespace is where Argo CD's Applications are, for a refresh after a commit and for doctor. Default argocd.
	// Source: poolwright.
	ArgoCDNamespace string `json:"argocdNamespace,omitempty"`
}
