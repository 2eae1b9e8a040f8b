package cmd

import (
	"context"
	"sync"
	"time"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/discovery/rds"
)

// aws holds the one client of each region, and what signs tokens. Nothing here is waited for by a failover.
type aws struct {
	ctx     context.Context // of the process: what runs in the background ends with it
	mu      sync.Mutex
	regions map[string]*rds.Region
	tokens  *rds.Tokens
}

func newAWS(ctx context.Context) *aws { return &aws{ctx: ctx, regions: map[string]*rds.Region{}} }

// region returns the client of a region.
func (a *aws) region(name string) (*rds.Region, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r, ok := a.regions[name]; ok {
		return r, nil
	}
	config, err := rds.Load(a.ctx, name)
	if err != nil {
		return nil, err
	}
	a.regions[name] = rds.NewRegion(config)
	return a.regions[name], nil
}

// signer returns what signs tokens, and keeps its credentials warm in the background.
func (a *aws) signer(region string) (*rds.Tokens, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tokens != nil {
		return a.tokens, nil
	}
	config, err := rds.Load(a.ctx, region)
	if err != nil {
		return nil, err
	}
	a.tokens = rds.NewTokens(config)
	go a.tokens.Run(a.ctx)
	return a.tokens, nil
}

// tokensFor makes the credentials function of an IAM user.
func (a *aws) tokensFor(c clusters.IAMCredentials) (func(context.Context, string, int) (string, string, error), error) {
	tokens, err := a.signer(c.Region)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, host string, port int) (string, string, error) {
		token, err := tokens.Token(ctx, c.Region, host, port, c.User)
		return c.User, token, err
	}, nil
}

// metadata is what AWS says of a cluster; off when the declaration names no region.
type metadata struct {
	enricher *rds.Enricher
	broken   error
	stop     context.CancelFunc
}

// watch starts refreshing a cluster's metadata in the background.
func (a *aws) watch(ask clusters.Discovery) metadata {
	m := a.metadata(ask)
	if m.enricher != nil {
		var ctx context.Context
		ctx, m.stop = context.WithCancel(a.ctx)
		go m.enricher.Run(ctx)
	}
	return m
}

// metadata makes the enricher, without asking yet.
func (a *aws) metadata(ask clusters.Discovery) metadata {
	m := metadata{stop: func() {}}
	if ask.RDS.Region == "" || ask.Provider == "postgres" {
		return m
	}
	region, err := a.region(ask.RDS.Region)
	if err != nil {
		m.broken = err
		return m
	}
	m.enricher = region.Cluster(ask.ClusterName, time.Duration(ask.RDS.RefreshInterval))
	return m
}

// now is the metadata of this moment. A broken configuration of AWS is stale metadata, no more.
func (m metadata) now() *discovery.Metadata {
	switch {
	case m.broken != nil:
		return &discovery.Metadata{State: discovery.MetadataStale, Detail: m.broken.Error()}
	case m.enricher == nil:
		return nil
	}
	return m.enricher.Metadata()
}

// refresh pulls the next refresh forward.
func (m metadata) refresh() {
	if m.enricher != nil {
		m.enricher.Refresh()
	}
}
