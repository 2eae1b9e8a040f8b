package plan

// ordered: while a person's order stands, it says who the writer is. The first
// time that is a failover, whatever is seen; after that the order is a fact that
// the other rules go by.
func (d *decision) ordered() bool {
	o := d.saw.Order
	switch {
	case o == nil || !d.now.Before(o.Until):
		return false
	case d.rules.GlobalSecondary:
		d.note(OrderRefused, o.Writer, "the cluster is declared a global secondary")
		return false
	}
	if _, ok := d.old.Member(o.Writer); !ok {
		return d.hold(OrderRefused, o.Writer, "it has no overlay")
	}
	d.follows(o.Writer)
	if d.old.Writer == o.Writer {
		d.note(OrderStands, o.Writer, o.words())
		return false
	}
	return d.failover(WriterOrdered, o.Writer, o.words())
}

// follows notes whom the order and whom the databases call the writer.
func (d *decision) follows(order string) {
	d.order = order
	w, ok := d.saw.Topology.Writer()
	if ok && w.Name != order && d.saw.Topology.Trusted() {
		d.other = w.Name
		d.note(OtherWriter, w.Name, "")
	}
}

// words are the person's, and the person.
func (o Order) words() string {
	switch {
	case o.By == "":
		return o.Reason
	case o.Reason == "":
		return "by " + o.By
	}
	return o.Reason + "; by " + o.By
}
