package clusters

// APIVersion and Kind of a Cluster file.
const (
	APIVersion = "poolwright.dev/v1alpha1"
	Kind       = "Cluster"
)

// Cluster is one declared database cluster: one file, one directory in Git.
type Cluster struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata names the cluster's objects.
type Metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Labels and Annotations go to the metadata of every generated object, never into a selector.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Spec is what a person declares.
type Spec struct {
	Discovery      Discovery      `json:"discovery"`
	Monitor        Monitor        `json:"monitor,omitzero"`
	PgBouncer      PgBouncer      `json:"pgbouncer"`
	Services       Services       `json:"services,omitzero"`
	TopologyPolicy TopologyPolicy `json:"topologyPolicy,omitzero"`
	Failover       Failover       `json:"failover,omitzero"`
	Publish        Publish        `json:"publish,omitzero"`
	// Paused: zero commits and zero patches; alerts go on. Default false.
	Paused bool `json:"paused,omitempty"`
}

// Discovery says where and how to ask.
type Discovery struct {
	// Provider is aurora (default) or postgres.
	Provider string `json:"provider,omitempty"`
	// Mode is regional (default) or global-secondary (no writer of its own is normal).
	Mode        string `json:"mode,omitempty"`
	ClusterName string `json:"clusterName,omitempty"` // aurora: required
	DomainName  string `json:"domainName,omitempty"`  // aurora: required; opaque
	// Port default 5432.
	Port             int              `json:"port,omitempty"`
	ClusterEndpoints ClusterEndpoints `json:"clusterEndpoints,omitzero"`
	// Hosts are the nodes of provider postgres. For provider aurora: optional addresses of
	// instances by name, for networks where {name}.{domainName} does not resolve (tests, tunnels).
	Hosts            []Host       `json:"hosts,omitempty"`
	Database         string       `json:"database,omitempty"` // default postgres
	SSLMode          string       `json:"sslMode,omitempty"`  // default require
	SSLRootCert      string       `json:"sslRootCert,omitempty"`
	AuthSecretRef    *SecretRef   `json:"authSecretRef,omitempty"`
	Credentials      *Credentials `json:"credentials,omitempty"`
	Interval         Duration     `json:"interval,omitempty"`         // default 3s, floor 1s for aurora and postgres alike (100ms with failover.fastInterval)
	Timeout          Duration     `json:"timeout,omitempty"`          // default 3s
	FailureThreshold int          `json:"failureThreshold,omitempty"` // default 3
	RDS              RDS          `json:"rds,omitzero"`
}

// Host is one node by name and address.
type Host struct {
	Name string `json:"name"`
	Host string `json:"host"`
	Port int    `json:"port,omitempty"` // default spec.discovery.port
}

// ClusterEndpoints override the generated cluster endpoints.
type ClusterEndpoints struct {
	Writer Endpoint `json:"writer,omitzero"`
	Reader Endpoint `json:"reader,omitzero"`
}

// Endpoint is an address.
type Endpoint struct {
	Host string `json:"host,omitempty"`
	Port int    `json:"port,omitempty"`
}

// SecretRef names a Kubernetes Secret in the cluster's namespace.
type SecretRef struct {
	Name string `json:"name"`
}

// Credentials say where the user and password of discovery come from: exactly one source.
type Credentials struct {
	Env      *EnvCredentials  `json:"env,omitempty"`      // environment variables
	File     *FileCredentials `json:"file,omitempty"`     // files, read anew for each connection
	IAMToken *IAMCredentials  `json:"iamToken,omitempty"` // an RDS IAM token as password
}

// EnvCredentials name environment variables.
type EnvCredentials struct {
	UserVar     string `json:"userVar,omitempty"`     // default PGUSER
	PasswordVar string `json:"passwordVar,omitempty"` // default PGPASSWORD
}

// FileCredentials name a directory with the files username (or user) and password: a mounted Secret.
type FileCredentials struct {
	Directory string `json:"directory"`
}

// IAMCredentials make an RDS authentication token.
type IAMCredentials struct {
	User   string `json:"user"`
	Region string `json:"region"`
}

// RDS is the enrichment from the AWS API; off without a region.
type RDS struct {
	Region          string   `json:"region,omitempty"`
	RefreshInterval Duration `json:"refreshInterval,omitempty"` // default 1m, floor 10s
}

// Monitor is the health of readers.
type Monitor struct {
	Interval          Duration `json:"interval,omitempty"`          // default 10s
	Timeout           Duration `json:"timeout,omitempty"`           // default 3s
	FailureThreshold  int      `json:"failureThreshold,omitempty"`  // default 3
	RecoveryThreshold int      `json:"recoveryThreshold,omitempty"` // default 2
}

// PgBouncer is the pooler of every instance.
type PgBouncer struct {
	Image string `json:"image"`
	// Version of PgBouncer in Image; needed when the tag does not say it.
	Version                       string             `json:"pgbouncerVersion,omitempty"`
	Replicas                      *int               `json:"replicas,omitempty"`                      // default 1
	TerminationGracePeriodSeconds *int               `json:"terminationGracePeriodSeconds,omitempty"` // default 30
	Config                        Config             `json:"config,omitzero"`
	InstanceOverrides             []InstanceOverride `json:"instanceOverrides,omitempty"`
	AuthFileSecretRef             SecretRef          `json:"authFileSecretRef"`
	Resources                     Object             `json:"resources,omitempty"`
	Labels                        map[string]string  `json:"labels,omitempty"`
	Annotations                   map[string]string  `json:"annotations,omitempty"`
	ServiceAccountName            string             `json:"serviceAccountName,omitempty"`
	NodeSelector                  map[string]string  `json:"nodeSelector,omitempty"`
	Affinity                      Object             `json:"affinity,omitempty"`
	Tolerations                   []Object           `json:"tolerations,omitempty"`
	PriorityClassName             string             `json:"priorityClassName,omitempty"`
	RuntimeClassName              string             `json:"runtimeClassName,omitempty"`
	PodSecurityContext            Object             `json:"podSecurityContext,omitempty"`
	ContainerSecurityContext      Object             `json:"containerSecurityContext,omitempty"`
	LivenessProbe                 Object             `json:"livenessProbe,omitempty"`
	ReadinessProbe                Object             `json:"readinessProbe,omitempty"`
	Sidecars                      []Object           `json:"sidecars,omitempty"`
	Volumes                       []Object           `json:"volumes,omitempty"`
	VolumeMounts                  []Object           `json:"volumeMounts,omitempty"`
	ImagePullSecrets              []SecretRef        `json:"imagePullSecrets,omitempty"`
	TopologySpreadConstraints     []Object           `json:"topologySpreadConstraints,omitempty"`
}

// Config is pgbouncer.ini by section. Values are scalars: strings, numbers, booleans.
type Config struct {
	PgBouncer map[string]Scalar            `json:"pgbouncer,omitempty"`
	Databases map[string]map[string]Scalar `json:"databases,omitempty"`
	Users     map[string]map[string]Scalar `json:"users,omitempty"`
	Peers     map[string]map[string]Scalar `json:"peers,omitempty"`
}

// InstanceOverride changes one instance.
type InstanceOverride struct {
	Name     string `json:"name"`
	Enabled  *bool  `json:"enabled,omitempty"` // default true
	Replicas *int   `json:"replicas,omitempty"`
	Config   Config `json:"config,omitzero"`
}

// Services are the Services' names, types and annotations.
type Services struct {
	Writer       Service `json:"writer,omitzero"`
	Reader       Service `json:"reader,omitzero"`
	PerInstances Service `json:"perInstances,omitzero"` // its name is not used
}

// Service is one kind of Service.
type Service struct {
	Name        string            `json:"name,omitempty"` // suffix: <cluster>-<name>; defaults writer, reader
	Type        string            `json:"type,omitempty"` // ClusterIP (default), NodePort, LoadBalancer
	Annotations map[string]string `json:"annotations,omitempty"`
}

// TopologyPolicy is about instances that come and go.
type TopologyPolicy struct {
	RemoveAfterMissingCount   int      `json:"removeAfterMissingCount,omitempty"`   // default 3
	RemoveAfterMissingSeconds *int     `json:"removeAfterMissingSeconds,omitempty"` // default 10
	RemovedInstanceRetention  Duration `json:"removedInstanceRetention,omitempty"`  // default 1h
	// ReaderFallback is writer (default), none or only-when-absent.
	ReaderFallback string `json:"readerFallback,omitempty"`
	// AllowShrink is a person's reason to let one step remove more than half of the instances.
	AllowShrink string `json:"allowShrink,omitempty"`
}

// Failover is the failover window.
type Failover struct {
	Window       Duration `json:"window,omitempty"`       // default 30s
	MaxWindow    Duration `json:"maxWindow,omitempty"`    // default 10m
	FastInterval Duration `json:"fastInterval,omitempty"` // default 100ms
}

// Publish is where the tree goes and how. Without a repository nothing is published.
type Publish struct {
	Repository string `json:"repository,omitempty"` // URL: file, http(s), ssh; or a path
	Branch     string `json:"branch,omitempty"`     // default main
	Path       string `json:"path,omitempty"`       // the cluster's directory; default clusters/<name>
	// BatchWindow waits that long to put changes of class membership, scale and config into one commit. Default 0s.
	BatchWindow Duration          `json:"batchWindow,omitempty"`
	Auth        GitAuth           `json:"auth,omitzero"`
	Author      Person            `json:"author,omitzero"`    // default poolwright <poolwright@localhost>
	Committer   Person            `json:"committer,omitzero"` // default author
	Trailers    map[string]string `json:"trailers,omitempty"` // extra trailers
	Policy      PublishPolicy     `json:"policy,omitzero"`
}

// PublishPolicy is how each class of change goes in: commit (default); pullRequest is refused until a forge is configured.
type PublishPolicy struct {
	Failover   string `json:"failover,omitempty"`
	Membership string `json:"membership,omitempty"`
	Scale      string `json:"scale,omitempty"`
	Config     string `json:"config,omitempty"`
}

// Person is a Git identity.
type Person struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}

// GitAuth says where Git credentials come from. Each *File is read anew for each operation, each *Env names a variable.
type GitAuth struct {
	TokenEnv       string `json:"tokenEnv,omitempty"`
	TokenFile      string `json:"tokenFile,omitempty"`
	Username       string `json:"username,omitempty"` // with password; with a token default x-access-token
	PasswordEnv    string `json:"passwordEnv,omitempty"`
	PasswordFile   string `json:"passwordFile,omitempty"`
	SSHKeyFile     string `json:"sshKeyFile,omitempty"`
	KnownHostsFile string `json:"knownHostsFile,omitempty"`
	CAFile         string `json:"caFile,omitempty"`
}
