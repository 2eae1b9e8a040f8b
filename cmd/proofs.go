package cmd

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/live/pooler"
)

// answer is what an application would meet at a Service.
type answer struct {
	access  pooler.Access
	address string
	pooler.Proof
}

// proofs asks both Services at once, as spec.failover.proof says; none where it says nothing. A Service without an address is left out.
func (o outside) proofs(ctx context.Context, d declaration, services map[live.Role]*corev1.Service) (all []answer) {
	p := d.Cluster.Spec.Failover.Proof
	if p == nil {
		return nil
	}
	port := d.Cluster.Spec.PgBouncer.ListenPort()
	for _, a := range []answer{
		{access: pooler.Writes, address: proofAddress(p.WriterAddress, services[live.Writer], port)},
		{access: pooler.Reads, address: proofAddress(p.ReaderAddress, services[live.Reader], port)},
	} {
		if a.address != "" {
			all = append(all, a)
		}
	}
	ask := o.asker(d.Metadata.Name, *p)
	var asked sync.WaitGroup
	for i := range all {
		asked.Go(func() { all[i].Proof = ask(ctx, all[i].access, all[i].address) })
	}
	asked.Wait()
	return all
}
