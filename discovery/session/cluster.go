package session

import "github.com/poolwright/poolwright/discovery"

// Cluster is the connections to one cluster: a Session for each endpoint, and a Watch on the writer. A provider's Observer is one.
type Cluster struct {
	Sessions *Set
	watch    *Watch
}

// NewCluster returns a Cluster that is not connected yet.
func NewCluster(config Config) Cluster {
	c := Cluster{Sessions: NewSet(config), watch: NewWatch(config)}
	c.watch.silent = c.Sessions.Silence
	return c
}

// Close closes all connections.
func (c Cluster) Close() {
	c.watch.Close()
	c.Sessions.Close()
}

// Lost has a value after a connection to the writer that stood was lost. Which one that is, an observation that shows a writer
// says; the connection is made again by itself.
func (c Cluster) Lost() <-chan struct{} { return c.watch.Lost() }

// Follow watches the writer of that observation, where it shows one.
func (c Cluster) Follow(seen discovery.Observation) {
	if writer, ok := discovery.Merge(seen).Writer(); ok {
		c.watch.On(Address{Host: writer.Host, Port: writer.Port})
	}
}
