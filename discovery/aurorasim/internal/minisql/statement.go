package minisql

import "time"

// Kind is what a statement does.
type Kind uint8

// The kinds of statements.
const (
	Empty    Kind = iota // nothing but comments
	Query                // gives rows: select, show
	Set                  // changes a setting of the session
	Begin                // begins a transaction block
	Commit               // ends it
	Rollback             // ends it
	Write                // would change data or schema; only its verb is understood
	Forget               // deallocate all, discard all
)

// Statement is one understood statement.
type Statement struct {
	Kind Kind
	// Tag is the command tag of its completion; a query's row count is added to "SELECT" by the caller.
	Tag string
	// Verb names a write in error messages, as in "cannot execute INSERT in a read-only transaction".
	Verb string
	// Columns of a query.
	Columns []Column
	// Name and Value of a set. Default is true for "set x to default".
	Name, Value string
	Default     bool
	// ReadOnly is the access mode that a begin asks for, nil when it asks for none.
	ReadOnly *bool

	query query
}

// Column is a column of a result.
type Column struct {
	Name string
	Type Type
}

// Env is all that an answer may depend on.
type Env struct {
	Instance string // aurora_db_instance_identifier()
	Version  string // aurora_version()
	Database string
	User     string
	PID      int64
	// InRecovery is pg_is_in_recovery().
	InRecovery bool
	// ReadOnly: writes are refused.
	ReadOnly bool
	// Clock is clock_timestamp(), Transaction is now(), Started is pg_postmaster_start_time().
	Clock, Transaction, Started time.Time
	// Setting gives current_setting(name); ok is false for an unknown name.
	Setting func(name string) (value string, ok bool)
	// Status is aurora_replica_status().
	Status []Row
}

// Row is one row of aurora_replica_status(). Nil is NULL.
type Row struct {
	ServerID   string
	SessionID  string
	LastUpdate *time.Time
	LagMillis  *float64
	// Current is is_current: the instance takes part in the cluster now.
	Current bool
}

type statusColumn struct {
	name string
	typ  Type
	get  func(*Row) any
}

// statusColumns are the columns of aurora_replica_status() in its order, as documented for Aurora PostgreSQL.
// What no topology probe has a use for is NULL.
func statusColumns() []statusColumn {
	null := func(*Row) any { return nil }
	return []statusColumn{
		{"server_id", Text, func(r *Row) any { return r.ServerID }},
		{"session_id", Text, func(r *Row) any { return r.SessionID }},
		{"durable_lsn", Int8, null},
		{"highest_lsn_rcvd", Int8, null},
		{"current_read_lsn", Int8, null},
		{"cur_replay_latency_in_usec", Int8, null},
		{"active_txns", Int4, func(*Row) any { return int64(0) }},
		{"is_current", Bool, func(r *Row) any { return r.Current }},
		{"last_transport_error", Int4, func(*Row) any { return int64(0) }},
		{"last_error_timestamp", TimestampTZ, null},
		{"last_update_timestamp", TimestampTZ, func(r *Row) any { return orNull(r.LastUpdate) }},
		{"feedback_xmin", Int8, null},
		{"feedback_epoch", Int4, null},
		{"replica_lag_in_msec", Float8, func(r *Row) any { return orNull(r.LagMillis) }},
		{"log_stream_speed_in_kib_per_second", Float8, null},
		{"log_buffer_sequence_number", Int8, null},
		{"oldest_read_view_trx_id", Int8, null},
		{"oldest_read_view_lsn", Int8, null},
		{"pending_read_ios", Int8, null},
		{"read_ios", Int8, null},
		{"iops", Int4, func(*Row) any { return int64(0) }},
		{"cpu", Float8, func(*Row) any { return 5.0 }},
	}
}

func orNull[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}
