package discovery

import "time"

// Observation is all evidence of one look at a cluster, before any judgement.
// It is what a snapshot file holds. Merge turns it into a Topology.
type Observation struct {
	Cluster  string   `json:"cluster"`
	Provider Provider `json:"provider"` // aurora or postgres: which rules Merge applies
	Mode     Mode     `json:"mode,omitempty"`
	// Domain is the opaque suffix of instance endpoints: {name}.{Domain}. aurora only.
	Domain string `json:"domain,omitempty"`
	// Port of the instance endpoints, default 5432.
	Port int `json:"port,omitempty"`
	// At is when the last answer was in.
	At time.Time `json:"at"`
	// Answers, one an endpoint asked, sorted by endpoint.
	Answers []Answer `json:"answers"`
	// Metadata from the provider's API, nil when there is none.
	Metadata *Metadata `json:"metadata,omitempty"`
}

// Answer is what one endpoint said about itself and about the others, in one session.
type Answer struct {
	// Endpoint is host:port as it was asked. ReadSnapshot fills it in when it is missing.
	Endpoint string `json:"endpoint,omitempty"`
	// Asked is the instance that was meant by it, "" for a cluster endpoint.
	Asked string `json:"asked,omitempty"`
	// Via is the cluster endpoint that was asked, Writer or Reader; Unknown when an instance was asked.
	Via Role `json:"via,omitempty"`
	// Name is who answered, by its own word (aurora_db_instance_identifier; postgres: Asked).
	Name string `json:"name,omitempty"`
	// Fault is why there is no answer; None when there is one.
	Fault Fault `json:"fault,omitempty"`
	// Detail is the error text with credentials removed, for people only.
	Detail string `json:"detail,omitempty"`
	// InRecovery, ReadOnly, DefaultReadOnly: pg_is_in_recovery(), transaction_read_only, default_transaction_read_only.
	InRecovery      bool `json:"inRecovery,omitempty"`
	ReadOnly        bool `json:"readOnly,omitempty"`
	DefaultReadOnly bool `json:"defaultReadOnly,omitempty"`
	// Timeline is the WAL timeline of a postgres node, 0 when not known.
	Timeline uint32 `json:"timeline,omitempty"`
	// Rows is this node's view (aurora_replica_status), in the order given.
	Rows []Row `json:"rows,omitempty"`
}

// Row is one row of aurora_replica_status().
type Row struct {
	ServerID  string `json:"serverId"`
	SessionID string `json:"sessionId,omitempty"` // MasterSession on the writer
	// AgeMillis is the answering node's now() minus last_update_timestamp in milliseconds; nil when that was NULL.
	// Taken on the database's clock, so our own clock does not matter.
	AgeMillis *int64 `json:"ageMillis,omitempty"`
	// LagMillis is replica_lag_in_msec; nil when NULL.
	LagMillis *float64 `json:"lagMillis,omitempty"`
}

// Metadata is what the provider's API says of the cluster.
type Metadata struct {
	// State says how far to believe it: Fresh, Stale (throttled or denied; the last good one is kept), Off.
	State     MetadataState  `json:"state"`
	At        time.Time      `json:"at,omitzero"`
	Instances []MetaInstance `json:"instances,omitempty"`
	Detail    string         `json:"detail,omitempty"`
}

// MetaInstance is one instance in the provider's API.
type MetaInstance struct {
	Name     string `json:"name"`
	Resource string `json:"resource,omitempty"` // DbiResourceId
	Zone     string `json:"zone,omitempty"`
	Class    string `json:"class,omitempty"`
	Status   string `json:"status,omitempty"` // available, deleting, ...
	Writer   bool   `json:"writer,omitempty"` // informational: never moves a writer
}
