package aurora

// query asks everything in one round trip of the simple protocol: the node about itself, then its view. The age is taken on
// the node's own clock, so that poolwright's does not matter.
const query = `SELECT aurora_db_instance_identifier(), pg_is_in_recovery(), ` +
	`current_setting('transaction_read_only'), current_setting('default_transaction_read_only'); ` +
	`SELECT server_id, session_id, (extract(epoch FROM clock_timestamp() - last_update_timestamp) * 1000)::int8, ` +
	`replica_lag_in_msec FROM aurora_replica_status()`
