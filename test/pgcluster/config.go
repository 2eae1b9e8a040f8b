package pgcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// settings are common to all nodes. Nothing here waits for a disk, and a
// standby notices a new upstream within 100 ms. What replication needs is
// PostgreSQL's default; max_connections has to stay at its own, because a
// standby refuses less than what the template was made with.
const settings = `
fsync = off
full_page_writes = off
synchronous_commit = off
autovacuum = off
jit = off
shared_buffers = 8MB
wal_keep_size = 64MB
min_wal_size = 4MB
wal_retrieve_retry_interval = 100ms
wal_receiver_status_interval = 1s
password_encryption = scram-sha-256
log_line_prefix = '%m [%p] %u %a '
`

const hba = `
local all         all        trust
host  replication replicator 127.0.0.0/8 trust
host  all         all        127.0.0.0/8 scram-sha-256
`

// writeConfig makes postgresql.conf and pg_hba.conf. They stay outside of the
// data directory, where a base backup would replace them.
func (n *Node) writeConfig() error {
	rules := []string{hba}
	for _, network := range n.cluster.options.From {
		rules = append(rules, "host all all "+network+" scram-sha-256\n")
	}
	if err := n.cluster.install.write(filepath.Join(n.dir, "pg_hba.conf"), strings.Join(rules, "")); err != nil {
		return err
	}
	lines := []string{
		"listen_addresses = " + quote(n.Host),
		fmt.Sprintf("port = %d", n.Port),
		"unix_socket_directories = " + quote(n.dir),
		"hba_file = " + quote(filepath.Join(n.dir, "pg_hba.conf")),
		"cluster_name = " + quote(n.Name),
		settings,
	}
	if n.upstream != nil {
		lines = append(lines, "primary_conninfo = "+quote(n.conninfo(n.upstream)))
	}
	if n.cluster.options.TLS {
		lines = append(lines, "ssl = on", "ssl_cert_file = "+quote(n.certFile()), "ssl_key_file = "+quote(n.keyFile()))
	}
	lines = append(lines, n.cluster.options.Settings...)
	if n.cluster.options.Emulation {
		lines = append(lines, "aurora_emu.override_file = "+quote(n.overrideFile()))
	}
	lines = append(lines, "include_if_exists = "+quote(n.faultFile()), "")
	return n.cluster.install.write(n.config(), strings.Join(lines, "\n"))
}

// conninfo is how a standby reaches its upstream. The emulation looks the host
// and port up among the members.
func (n *Node) conninfo(up *Node) string {
	return fmt.Sprintf("host=%s port=%d user=replicator application_name=%s sslmode=disable", up.Host, up.Port, n.Name)
}

func (n *Node) faultFile() string    { return filepath.Join(n.dir, "fault.conf") }
func (n *Node) overrideFile() string { return filepath.Join(n.dir, "override.json") }
func (n *Node) standbyFile() string  { return filepath.Join(n.data(), "standby.signal") }

func (n *Node) markStandby() error { return n.cluster.install.write(n.standbyFile(), "") }

func (n *Node) isStandby() bool {
	_, err := os.Stat(n.standbyFile())
	return err == nil
}

// follow points a standby at another upstream; it does so without a restart.
func (n *Node) follow(up *Node) error {
	n.upstream = up
	if err := n.writeConfig(); err != nil {
		return err
	}
	return n.reload()
}
