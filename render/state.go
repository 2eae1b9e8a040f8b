package render

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/plan"
)

// sorted is s with its members in order of name, in a slice of its own.
func sorted(s plan.State) plan.State {
	s.Members = slices.Clone(s.Members)
	slices.SortFunc(s.Members, func(a, b plan.Member) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// check refuses a sorted state that no tree can say: it would put two instances behind one
// selector, or none. An empty tree would build, and prune every pooler.
func check(s plan.State) error {
	if len(s.Members) == 0 {
		return errors.New("a state without members has no tree: it would remove every pooler")
	}
	if s.Epoch == 0 {
		return errors.New("epoch 0 is a cluster without a tree")
	}
	slots := map[int]string{}
	overlays := map[string]string{}
	for i, m := range s.Members {
		if err := checkMember(m); err != nil {
			return err
		}
		if i > 0 && s.Members[i-1].Name == m.Name {
			return fmt.Errorf("member %s is there twice", m.Name)
		}
		if other, taken := slots[m.Slot]; taken {
			return fmt.Errorf("members %s and %s have the same slot %d", other, m.Name, m.Slot)
		}
		// Git hosts and checkouts may fold case: two overlays must differ by more.
		folded := strings.ToLower(OverlayName(m.Name))
		if other, taken := overlays[folded]; taken {
			return fmt.Errorf("members %s and %s would share the overlay %s", other, m.Name, OverlayName(m.Name))
		}
		slots[m.Slot], overlays[folded] = m.Name, m.Name
	}
	if _, ok := s.Member(s.Writer); s.Writer != "" && !ok {
		return fmt.Errorf("writer %s is not a member", s.Writer)
	}
	return nil
}

func checkMember(m plan.Member) error {
	switch {
	case m.Name == "":
		return errors.New("a member without a name")
	case m.Slot < 0 || m.Slot >= plan.Slots:
		return fmt.Errorf("member %s: slot %d is not one of 0-%d", m.Name, m.Slot, plan.Slots-1)
	case m.Port < 1 || m.Port > 65535:
		return fmt.Errorf("member %s: %d is not a port", m.Name, m.Port)
	case m.Out > plan.Disabled:
		return fmt.Errorf("member %s: %d is no reason to be out", m.Name, m.Out)
	case !discovery.IsName(m.Name):
		return fmt.Errorf("member %q: it is not the name of an instance", m.Name)
	case badText(m.Resource) || badText(m.Zone):
		return fmt.Errorf("member %s: a control character, a line separator or no UTF-8 in its resource or zone", m.Name)
	}
	return checkHost(m)
}

// clusterEndpoints are parts of names that move between instances: a pooler must never follow one.
var clusterEndpoints = []string{".cluster-", ".proxy-"}

// checkHost allows exactly one host that names the instance itself.
func checkHost(m plan.Member) error {
	switch {
	case m.Host == "":
		return fmt.Errorf("member %s has no host", m.Name)
	case badText(m.Host) || strings.ContainsAny(m.Host, ", \t'"):
		return fmt.Errorf("member %s: %q is not one host", m.Name, m.Host)
	case slices.ContainsFunc(clusterEndpoints, func(s string) bool { return strings.Contains(strings.ToLower(m.Host), s) }):
		return fmt.Errorf("member %s: %s is an endpoint that moves between instances, not the instance's own", m.Name, m.Host)
	}
	return nil
}
