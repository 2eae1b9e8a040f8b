package cmd

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/aurora"
	"github.com/poolwright/poolwright/discovery/postgres"
	"github.com/poolwright/poolwright/discovery/session"
)

// outside is how the world is reached.
type outside struct {
	// Secrets is a directory with one directory a mounted Secret.
	Secrets string
	// Dial and Lookup replace the network of databases; nil for the real one.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Lookup func(ctx context.Context, host string) ([]string, error)
	Now    func() time.Time
	Getenv func(string) string
	AWS    *aws
	// Kube is Kubernetes; nil works through Git alone.
	Kube *standpoint
}

// theWorld is outside as it is for every verb.
func theWorld(ctx context.Context) outside {
	return outside{
		Secrets: cmp.Or(os.Getenv("POOLWRIGHT_SECRETS"), "/var/run/secrets/poolwright"),
		Now:     time.Now,
		Getenv:  os.Getenv,
		AWS:     newAWS(ctx),
	}
}

// observer asks one cluster's databases.
type observer interface {
	Observe(ctx context.Context) discovery.Observation
	Lost() <-chan struct{}
	Close()
}

// observer makes the observer that a declaration asks for.
func (o outside) observer(d declaration) (observer, error) {
	ask := d.Cluster.Spec.Discovery
	credentials, err := o.credentials(ask)
	if err != nil {
		return nil, err
	}
	config := session.Config{
		Database: ask.Database, SSLMode: ask.SSLMode, RootCert: ask.SSLRootCert, Credentials: credentials,
		Timeout: min(time.Duration(ask.Timeout), time.Duration(d.Cluster.Spec.Monitor.Timeout)), Dial: o.Dial, Lookup: o.Lookup,
	}
	if ask.Provider == "postgres" {
		return postgres.New(postgres.Config{Cluster: d.Metadata.Name, Hosts: hostsOf(ask), Port: ask.Port, Session: config, Now: o.Now}), nil
	}
	return aurora.New(aurora.Config{
		Cluster: d.Metadata.Name, Mode: modeOf(ask), Name: ask.ClusterName, Domain: ask.DomainName, Port: ask.Port,
		Writer: address(ask.ClusterEndpoints.Writer), Reader: address(ask.ClusterEndpoints.Reader),
		Hosts: hostsOf(ask), Session: config, Now: o.Now,
	}), nil
}

func modeOf(ask clusters.Discovery) discovery.Mode {
	if ask.Mode == "global-secondary" {
		return discovery.GlobalSecondary
	}
	return discovery.Regional
}

func address(e clusters.Endpoint) session.Address { return session.Address{Host: e.Host, Port: e.Port} }

func hostsOf(ask clusters.Discovery) map[string]session.Address {
	hosts := map[string]session.Address{}
	for _, h := range ask.Hosts {
		hosts[h.Name] = session.Address{Host: h.Host, Port: h.Port}
	}
	return hosts
}

// credentials makes the function that gives each new connection its user and password.
func (o outside) credentials(ask clusters.Discovery) (func(context.Context, string, int) (string, string, error), error) {
	given := ask.Credentials
	switch {
	case ask.AuthSecretRef != nil:
		return fromDirectory(filepath.Join(o.Secrets, ask.AuthSecretRef.Name)), nil
	case given == nil:
		return o.fromEnvironment("PGUSER", "PGPASSWORD"), nil
	case given.File != nil:
		return fromDirectory(given.File.Directory), nil
	case given.IAMToken != nil:
		return o.AWS.tokensFor(*given.IAMToken)
	case given.Env != nil:
		return o.fromEnvironment(given.Env.UserVar, given.Env.PasswordVar), nil
	}
	return o.fromEnvironment("PGUSER", "PGPASSWORD"), nil
}

// fromEnvironment wants a user. A password may be missing: not everybody asks for one.
func (o outside) fromEnvironment(user, password string) func(context.Context, string, int) (string, string, error) {
	return func(context.Context, string, int) (string, string, error) {
		name := o.Getenv(user)
		if name == "" {
			return "", "", fmt.Errorf("reading the database user: environment variable %s is not set", user)
		}
		return name, o.Getenv(password), nil
	}
}

// fromDirectory reads a mounted Secret anew for each connection, so that a rotated one is used at once.
func fromDirectory(dir string) func(context.Context, string, int) (string, string, error) {
	return func(context.Context, string, int) (string, string, error) {
		user, err := userIn(dir)
		if err != nil {
			return "", "", fmt.Errorf("reading the database user: %w", err)
		}
		password, err := readLine(filepath.Join(dir, "password"))
		if err != nil {
			return "", "", fmt.Errorf("reading the database password: %w", err)
		}
		return user, password, nil
	}
}

// userIn reads the user of a mounted Secret: username, else user. The error is about username when there is neither.
func userIn(dir string) (string, error) {
	user, err := readLine(filepath.Join(dir, "username"))
	if _, other := os.Stat(filepath.Join(dir, "user")); err != nil && other == nil {
		return readLine(filepath.Join(dir, "user"))
	}
	return user, err
}

// readLine reads a small file without its line end.
func readLine(path string) (string, error) {
	data, err := os.ReadFile(path)
	return strings.TrimRight(string(data), "\r\n"), err
}
