package plan

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/discovery"
)

// newcomers are the instances that should get an overlay, the writer first:
// if slots run out, it is not the one that goes without.
func (d *decision) newcomers() []discovery.Instance {
	var list []discovery.Instance
	for _, i := range d.saw.Topology.Instances {
		if _, member := d.old.Member(i.Name); member || i.Name != d.want.Writer && (i.Deleting || d.rules.Disabled[i.Name]) {
			continue
		}
		if i.Name == d.want.Writer {
			list = slices.Insert(list, 0, i)
			continue
		}
		list = append(list, i)
	}
	return list
}

// add gives each newcomer an overlay in the lowest free slot. A slot is free
// when no declared member has it: one that becomes free in this step is given
// away in the next, when its old overlay is gone from Git.
func (d *decision) add(newcomers []discovery.Instance, out func(discovery.Instance) Out) {
	free := d.freeSlots()
	for k, i := range newcomers {
		if len(free) == 0 {
			d.retire(newcomers[k:])
			break
		}
		d.want.Members = append(d.want.Members, Member{
			Name: i.Name, Resource: i.Resource, Host: i.Host, Port: i.Port, Zone: i.Zone,
			Slot: free[0], Out: out(i), Since: d.stamp(),
		})
		d.note(OverlayAdded, i.Name, "")
		free = free[1:]
	}
	slices.SortFunc(d.want.Members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
}

// freeSlots are the slots that no declared member has, lowest first.
func (d *decision) freeSlots() []int {
	var used [Slots]bool
	for _, m := range d.old.Members {
		used[m.Slot] = true
	}
	var free []int
	for slot, taken := range used {
		if !taken {
			free = append(free, slot)
		}
	}
	return free
}

// retire removes retained overlays before their time, the oldest first, so that
// those without a slot can have one in the next step.
func (d *decision) retire(waiting []discovery.Instance) {
	coming := len(d.old.Members) - len(d.want.Members) // slots that become free anyway
	for _, i := range waiting {
		coming--
		if coming >= 0 {
			continue
		}
		oldest, ok := d.oldestRetained()
		if !ok {
			d.note(NoSlot, i.Name, "")
			continue
		}
		d.want.Members = slices.Delete(d.want.Members, oldest, oldest+1)
	}
}

// oldestRetained finds the overlay that may go first, and says that it goes.
func (d *decision) oldestRetained() (index int, ok bool) {
	index = -1
	for k, m := range d.want.Members {
		_, present := d.saw.Topology.Instance(m.Name)
		if !m.Out.leaving() || m.Out == Missing && present || d.saw.Pinned[m.Name] {
			continue
		}
		if index < 0 || m.Since.Before(d.want.Members[index].Since) {
			index = k
		}
	}
	if index < 0 {
		return 0, false
	}
	d.note(SlotRetired, d.want.Members[index].Name, "")
	return index, true
}
