package clusters

// Failover is how closely a failover is watched, and what is done besides the commit.
type Failover struct {
	// Window is how long the fast interval lasts once a failover is suspected, a Go duration. Default 30s.
	// Source: poolwright (fixed in PgBouncerAurora).
	Window Duration `json:"window,omitempty"`
	// MaxWindow bounds the window while no writer is known, a Go duration, not below window. Default 10m. Source: poolwright.
	MaxWindow Duration `json:"maxWindow,omitempty"`
	// FastInterval is the interval of discovery and monitor inside the window, a Go duration, at least 20ms. Default 100ms.
	// Source: poolwright (fixed in PgBouncerAurora).
	FastInterval Duration `json:"fastInterval,omitempty"`
	// PatchServices moves the live Services at once in a failover, ahead of Git, where Kubernetes is in reach; false leaves them
	// to the GitOps tool. After Load never nil. Default true. Source: poolwright.
	PatchServices *bool `json:"patchServices,omitempty"`
	// Evict is how the clients of the demoted instance are cut, which a Service that moves does not do: console, through the
	// admin console of each pod; deletePods, with the pods; none, not at all. console needs failover.console.
	// Default console when failover.console is given, else none. Source: poolwright (rolling restarts in PgBouncerAurora).
	Evict string `json:"evict,omitempty" jsonschema:"enum=console,enum=deletePods,enum=none"`
	// EvictWithin is how long an eviction may take before that is reported, a Go duration; it goes on. Default 5s.
	// Source: poolwright.
	EvictWithin Duration `json:"evictWithin,omitempty"`
	// Propagation is how long the nodes need to follow a Service once its EndpointSlices have changed, a Go duration, at least
	// 1s; so long a demoted instance takes no new client. Default 2s. Source: poolwright.
	Propagation Duration `json:"propagation,omitempty"`
	// Console is the way into the admin console of every PgBouncer. Default none: no console is asked. Source: poolwright.
	Console *Console `json:"console,omitempty"`
	// Proof asks through the Services, as an application does, whether writes reach the writer. Default none: nothing is proven.
	// Source: poolwright.
	Proof *Proof `json:"proof,omitempty"`
}

// Console is the way into the admin console of every PgBouncer, of which each pod is asked by its own address.
// The password comes from exactly one of authSecretRef and the members of credentials.
type Console struct {
	// User is the administrator that poolwright logs in as: it is drawn into admin_users, beside yours, and has to be in
	// userlist.txt of spec.pgbouncer.authFileSecretRef. Letters, digits, '_', '.' and '-'. Default poolwright. Source: poolwright.
	User string `json:"user,omitempty"`
	PoolerLogin
}

// Proof is a question through a Service, as an application asks it. User and password come from exactly one of
// authSecretRef and the members of credentials.
type Proof struct {
	// Database that is asked. Default the first by name of spec.pgbouncer.config.databases, else postgres. Source: poolwright.
	Database string `json:"database,omitempty"`
	// Table is [schema.]table, of which one row is written in each proof of the writer. Default empty: the session is asked
	// whether it could write. Source: poolwright.
	Table string `json:"table,omitempty"`
	// Interval between two proofs, a Go duration; below 1s means 1s. In a failover failover.fastInterval takes its place.
	// Default 30s. Source: poolwright.
	Interval Duration `json:"interval,omitempty"`
	// WriterAddress is host or host:port of the Writer Service, for a place from which its cluster IP is not in reach; the port is
	// listen_port unless given. Default empty: the Service's cluster IP. Source: poolwright.
	WriterAddress string `json:"writerAddress,omitempty"`
	// ReaderAddress is the same of the Reader Service. Default empty: the Service's cluster IP. Source: poolwright.
	ReaderAddress string `json:"readerAddress,omitempty"`
	PoolerLogin
}

// PoolerLogin is how poolwright logs in to a PgBouncer.
type PoolerLogin struct {
	// AuthSecretRef is a Secret of the cluster's namespace with username (or user) and password. The console's user is
	// console.user, and no username is read. Default none. Source: poolwright.
	AuthSecretRef *SecretRef `json:"authSecretRef,omitempty"`
	// Credentials are the other sources of user and password. Default none. Source: poolwright.
	Credentials *PoolerCredentials `json:"credentials,omitempty"`
	// SSLMode of these connections, as in libpq. Default prefer. Source: poolwright.
	SSLMode string `json:"sslMode,omitempty" jsonschema:"enum=disable,enum=allow,enum=prefer,enum=require,enum=verify-ca,enum=verify-full"`
	// SSLRootCert is a file with the certificate authorities for verify-ca and verify-full. Default the system's.
	// Source: poolwright.
	SSLRootCert string `json:"sslRootCert,omitempty"`
}

// PoolerCredentials say where user and password come from: exactly one source. PgBouncer takes no IAM token.
type PoolerCredentials struct {
	// Env reads environment variables. Default none. Source: poolwright.
	Env *PoolerEnv `json:"env,omitempty"`
	// File reads the files of a directory, anew for each connection. Default none. Source: poolwright.
	File *FileCredentials `json:"file,omitempty"`
}

// PoolerEnv names environment variables. There are no defaults: PGUSER and PGPASSWORD are discovery's.
type PoolerEnv struct {
	// UserVar is the variable with the user. Required for a proof, not for the console, whose user is console.user.
	// Source: poolwright.
	UserVar string `json:"userVar,omitempty"`
	// PasswordVar is the variable with the password. Required. Source: poolwright.
	PasswordVar string `json:"passwordVar" jsonschema:"minLength=1"`
}
