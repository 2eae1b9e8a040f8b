package clusters

// PgBouncer is the pooler of every instance.
type PgBouncer struct {
	// Image of PgBouncer, with a tag or a digest. Required. Source: PgBouncerAurora.
	Image string `json:"image" jsonschema:"minLength=1"`
	// Version of PgBouncer inside the image, such as 1.25.2. Required when the image's tag does not tell it, as with a digest.
	// Default from the tag. Source: poolwright.
	Version string `json:"pgbouncerVersion,omitempty"`
	// Replicas is the count of pods per instance. Default 1. Source: PgBouncerAurora.
	Replicas *int `json:"replicas,omitempty" jsonschema:"minimum=1"`
	// TerminationGracePeriodSeconds is the pods' grace at termination, in seconds. Default 30. Source: PgBouncerAurora.
	TerminationGracePeriodSeconds *int `json:"terminationGracePeriodSeconds,omitempty" jsonschema:"minimum=0"`
	// Drain is how long a pod that leaves goes on serving the clients that it has, before it closes them between two transactions,
	// a Go duration in whole seconds, from 5s, below the grace period: best what the applications' connections live at most.
	// Default 10s less than the grace period, at least 5s. Source: poolwright.
	Drain Duration `json:"drain,omitempty"`
	// ClientTimeout is the shortest timeout that an application has for a query or for a connection of its pool, a Go duration, at
	// least 2s. query_wait_timeout has to be below it: else whoever queues gives up first, comes again, and the queue grows.
	// Default none: query_wait_timeout is PgBouncer's, or yours. Source: poolwright.
	ClientTimeout Duration `json:"clientTimeout,omitempty"`
	// Config is pgbouncer.ini by section. Default: see its fields. Source: PgBouncerAurora.
	Config Config `json:"config,omitzero"`
	// InstanceOverrides change single instances. Default none. Source: PgBouncerAurora.
	InstanceOverrides []InstanceOverride `json:"instanceOverrides,omitempty"`
	// AuthFileSecretRef is the Secret with userlist.txt, mounted at config.pgbouncer.auth_file. A user's SCRAM secret, as it stands in
	// pg_authid.rolpassword, is better there than the password: before PgBouncer 1.26 a login with a password costs 3.0 ms of its one
	// thread, with a secret 0.2 ms, and after a failover all clients log in at once. Required. Source: PgBouncerAurora.
	AuthFileSecretRef SecretRef `json:"authFileSecretRef"`
	// Resources of the pgbouncer container, a Kubernetes ResourceRequirements. Default none. Source: PgBouncerAurora.
	Resources Object `json:"resources,omitempty"`
	// Labels of the pods, besides the ones poolwright sets. Default none. Source: PgBouncerAurora.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the pods, besides the ones poolwright sets. Default none. Source: PgBouncerAurora.
	Annotations map[string]string `json:"annotations,omitempty"`
	// ServiceAccountName of the pods. Default empty: the namespace's default. Source: PgBouncerAurora.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// NodeSelector of the pods. Default none. Source: PgBouncerAurora.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Affinity of the pods, a Kubernetes Affinity. Default: an instance's pods on different hosts, then in different zones, where
	// that can be. Source: PgBouncerAurora.
	Affinity Object `json:"affinity,omitempty"`
	// Tolerations of the pods, Kubernetes Tolerations. Default none. Source: PgBouncerAurora.
	Tolerations []Object `json:"tolerations,omitempty"`
	// PriorityClassName of the pods. Default empty. Source: PgBouncerAurora.
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// RuntimeClassName of the pods. Default empty. Source: PgBouncerAurora.
	RuntimeClassName string `json:"runtimeClassName,omitempty"`
	// PodSecurityContext is a Kubernetes PodSecurityContext. Default: non-root, see render. Source: PgBouncerAurora.
	PodSecurityContext Object `json:"podSecurityContext,omitempty"`
	// ContainerSecurityContext of the pgbouncer container, a Kubernetes SecurityContext. Default: read-only root, see render.
	// Source: PgBouncerAurora.
	ContainerSecurityContext Object `json:"containerSecurityContext,omitempty"`
	// LivenessProbe of the pgbouncer container, a Kubernetes Probe. Default a TCP probe of listen_port. Source: PgBouncerAurora.
	LivenessProbe Object `json:"livenessProbe,omitempty"`
	// ReadinessProbe of the pgbouncer container, a Kubernetes Probe. Default a TCP probe of listen_port. Source: PgBouncerAurora.
	ReadinessProbe Object `json:"readinessProbe,omitempty"`
	// Sidecars are further containers of the pods, Kubernetes Containers; none may be called pgbouncer. Default none. Source: PgBouncerAurora.
	Sidecars []Object `json:"sidecars,omitempty"`
	// Volumes of the pods, Kubernetes Volumes; names that start with poolwright- are poolwright's. Default none. Source: PgBouncerAurora.
	Volumes []Object `json:"volumes,omitempty"`
	// VolumeMounts of the pgbouncer container, Kubernetes VolumeMounts. Default none. Source: PgBouncerAurora.
	VolumeMounts []Object `json:"volumeMounts,omitempty"`
	// ImagePullSecrets of the pods. Default none. Source: PgBouncerAurora.
	ImagePullSecrets []SecretRef `json:"imagePullSecrets,omitempty"`
	// TopologySpreadConstraints of the pods, Kubernetes TopologySpreadConstraints. Default none. Source: PgBouncerAurora.
	TopologySpreadConstraints []Object `json:"topologySpreadConstraints,omitempty"`
}

// Config is pgbouncer.ini by section. Values are strings, plain decimal numbers or booleans (true is written 1, false 0), in the
// units of PgBouncer. No value may hold a credential: the file goes to Git.
type Config struct {
	// PgBouncer is section [pgbouncer]. Default auth_type md5, auth_file /etc/pgbouncer/userlist.txt, listen_addr 0.0.0.0 and
	// listen_port 6432; those but auth_type, and pidfile, cannot differ between instances. Source: PgBouncerAurora.
	PgBouncer map[string]Scalar `json:"pgbouncer,omitempty"`
	// Databases is section [databases]; host and port follow from the instance and cannot be set. Default one entry "*".
	// Source: PgBouncerAurora.
	Databases map[string]map[string]Scalar `json:"databases,omitempty"`
	// Users is section [users]. Default none. Source: PgBouncerAurora.
	Users map[string]map[string]Scalar `json:"users,omitempty"`
	// Peers is section [peers]. Default none. Source: PgBouncerAurora.
	Peers map[string]map[string]Scalar `json:"peers,omitempty"`
}

// InstanceOverride changes one instance.
type InstanceOverride struct {
	// Name of the instance, as the database calls it. Required. Source: PgBouncerAurora.
	Name string `json:"name" jsonschema:"minLength=1"`
	// Enabled false keeps the instance out of traffic, probes and poolers. Default true. Source: PgBouncerAurora.
	Enabled *bool `json:"enabled,omitempty"`
	// Replicas is the count of pods of this instance. Default spec.pgbouncer.replicas. Source: PgBouncerAurora.
	Replicas *int `json:"replicas,omitempty" jsonschema:"minimum=1"`
	// Config goes over spec.pgbouncer.config, key by key. Default none. Source: PgBouncerAurora.
	Config Config `json:"config,omitzero"`
}
