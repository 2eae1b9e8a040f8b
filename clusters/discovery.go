package clusters

// Discovery says where and how to ask who is the writer. Credentials come from exactly one of authSecretRef and
// the members of credentials; without any, from the environment variables PGUSER and PGPASSWORD.
type Discovery struct {
	// Provider is what kind of cluster it is: Aurora PostgreSQL, or PostgreSQL with streaming replication.
	// Default aurora. Source: poolwright.
	Provider string `json:"provider,omitempty" jsonschema:"enum=aurora,enum=postgres"`
	// Mode is regional, or global-secondary where having no writer of its own is normal. Default regional. Source: poolwright.
	Mode string `json:"mode,omitempty" jsonschema:"enum=regional,enum=global-secondary"`
	// ClusterName is the Aurora cluster identifier, the first part of the cluster endpoints.
	// Required with provider aurora. Source: PgBouncerAurora.
	ClusterName string `json:"clusterName,omitempty"`
	// DomainName is what follows the instance's name in an instance endpoint, {instance}.{domainName}. It is taken as it is: no
	// region or partition is read from it. Required with provider aurora. Source: PgBouncerAurora.
	DomainName string `json:"domainName,omitempty"`
	// Port is the TCP port of all database endpoints. Default 5432. Source: PgBouncerAurora.
	Port int `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535"`
	// ClusterEndpoints replace the generated cluster endpoints. Default {clusterName}.cluster-{domainName} and
	// {clusterName}.cluster-ro-{domainName}. Source: PgBouncerAurora.
	ClusterEndpoints ClusterEndpoints `json:"clusterEndpoints,omitzero"`
	// Hosts are the nodes of provider postgres, where they are required. With provider aurora they are addresses of instances
	// by name, for networks in which {instance}.{domainName} does not resolve. No two have one address. Default none. Source: poolwright.
	Hosts []Host `json:"hosts,omitempty"`
	// Database to connect to. Default postgres. Source: PgBouncerAurora.
	Database string `json:"database,omitempty"`
	// SSLMode of the connections of discovery and monitor, as in libpq. Default require. Source: PgBouncerAurora.
	SSLMode string `json:"sslMode,omitempty" jsonschema:"enum=disable,enum=allow,enum=prefer,enum=require,enum=verify-ca,enum=verify-full"`
	// SSLRootCert is a file with the certificate authorities for verify-ca and verify-full. Default the system's.
	// Source: poolwright (environment PGSSLROOTCERT in PgBouncerAurora).
	SSLRootCert string `json:"sslRootCert,omitempty"`
	// AuthSecretRef is a Secret of the cluster's namespace with username (or user) and password. Default none.
	// Source: PgBouncerAurora.
	AuthSecretRef *SecretRef `json:"authSecretRef,omitempty"`
	// Credentials are the other sources of user and password. Default the environment when authSecretRef is not set.
	// Source: poolwright.
	Credentials *Credentials `json:"credentials,omitempty"`
	// Interval between two observations, a Go duration; below 1s means 1s. Default 3s. Source: PgBouncerAurora.
	Interval Duration `json:"interval,omitempty"`
	// Timeout of one observation's queries, a Go duration. Default 3s. Source: PgBouncerAurora.
	Timeout Duration `json:"timeout,omitempty"`
	// FailureThreshold is the count of consecutive untrusted observations after which the freeze is reported. Default 3.
	// Source: PgBouncerAurora.
	FailureThreshold int `json:"failureThreshold,omitempty" jsonschema:"minimum=1"`
	// RDS adds facts from the AWS API. Default: off. Source: poolwright (operator flags in PgBouncerAurora).
	RDS RDS `json:"rds,omitzero"`
}

// Host is one node by name and address.
type Host struct {
	// Name of the instance. Required. Source: poolwright.
	Name string `json:"name" jsonschema:"minLength=1"`
	// Host is one DNS name or IP address. Required. Source: poolwright.
	Host string `json:"host" jsonschema:"minLength=1"`
	// Port is the TCP port. Default spec.discovery.port. Source: poolwright.
	Port int `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535"`
}

// ClusterEndpoints are the two endpoints of an Aurora cluster, used only to find instances when none is known.
type ClusterEndpoints struct {
	// Writer is the cluster endpoint. Default {clusterName}.cluster-{domainName}. Source: PgBouncerAurora.
	Writer Endpoint `json:"writer,omitzero"`
	// Reader is the reader endpoint. Default {clusterName}.cluster-ro-{domainName}. Source: PgBouncerAurora.
	Reader Endpoint `json:"reader,omitzero"`
}

// Endpoint is an address.
type Endpoint struct {
	// Host is one DNS name or IP address. Default generated. Source: PgBouncerAurora.
	Host string `json:"host,omitempty"`
	// Port is the TCP port. Default spec.discovery.port. Source: PgBouncerAurora.
	Port int `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535"`
}

// Credentials say where user and password come from: exactly one source.
type Credentials struct {
	// Env reads environment variables. Default PGUSER and PGPASSWORD. Source: poolwright.
	Env *EnvCredentials `json:"env,omitempty"`
	// File reads the files of a directory, anew for each connection. Default none. Source: poolwright.
	File *FileCredentials `json:"file,omitempty"`
	// IAMToken makes an RDS authentication token for each connection. Default none. Source: poolwright.
	IAMToken *IAMCredentials `json:"iamToken,omitempty"`
}

// EnvCredentials name environment variables.
type EnvCredentials struct {
	// UserVar is the variable with the user. Default PGUSER. Source: poolwright.
	UserVar string `json:"userVar,omitempty"`
	// PasswordVar is the variable with the password. Default PGPASSWORD. Source: poolwright.
	PasswordVar string `json:"passwordVar,omitempty"`
}

// FileCredentials name a directory, such as a mounted Secret.
type FileCredentials struct {
	// Directory with the files username (or user) and password. Required. Source: poolwright.
	Directory string `json:"directory" jsonschema:"minLength=1"`
}

// IAMCredentials make an RDS authentication token, which takes the password's place and needs TLS.
type IAMCredentials struct {
	// User is the database user with the rds_iam role. Required. Source: poolwright.
	User string `json:"user" jsonschema:"minLength=1"`
	// Region is the AWS region of the cluster. Required. Source: poolwright.
	Region string `json:"region" jsonschema:"minLength=1"`
}

// RDS is the enrichment from the AWS API: zone, class, resource id and status of instances.
type RDS struct {
	// Region is the AWS region of the cluster; it is never read from domainName. Default empty: no AWS calls.
	// Source: poolwright (flag --aws-region in PgBouncerAurora).
	Region string `json:"region,omitempty"`
	// RefreshInterval between two refreshes, a Go duration; below 10s means 10s. Default 1m.
	// Source: poolwright (flag --rds-metadata-refresh-interval in PgBouncerAurora).
	RefreshInterval Duration `json:"refreshInterval,omitempty"`
}
