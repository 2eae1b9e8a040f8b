package test

import (
	"errors"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/discovery/aurorasim"
	"github.com/poolwright/poolwright/test/driver"
)

// TestUntrustedInputChangesNothing: whatever cannot be believed is exit code 3
// with a message that names the instance, and no commit by a running poolwright.
func TestUntrustedInputChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		inject func(*aurorasim.Cluster) error
		want   []string // of the doubt, code and instance
	}{
		"B08 nobody is the writer":                       {func(s *aurorasim.Cluster) error { s.Demote(); return nil }, []string{"no-writer"}},
		"B08 the writer's view is empty":                 {inject("a", aurorasim.NoRows), []string{"no-rows", "a"}},
		"B08 one id twice":                               {inject("a", aurorasim.DuplicateID), []string{"duplicate-id", "a"}},
		"B08 an empty id":                                {inject("a", aurorasim.EmptyID), []string{"empty-id", "a"}},
		"B08 no MASTER row anywhere":                     {inject("", aurorasim.NoMaster), []string{"mixed-answer", "a"}},
		"B03 two nodes claim it and nobody knows":        {split, []string{"two-writers"}},
		"a writer that does not take writes":             {inject("a", aurorasim.ReadOnlyWriter), []string{"mixed-answer", "a"}},
		"the writer refuses the password":                {afresh("a", aurorasim.DenyAuth), []string{"writer-unproven", "a"}},
		"the writer starts up":                           {inject("a", aurorasim.StartingUp), []string{"writer-unproven", "a"}},
		"the writer answers garbage":                     {inject("a", aurorasim.Garbage), []string{"writer-unproven", "a"}},
		"the writer hangs":                               {inject("a", aurorasim.Hang), []string{"writer-unproven", "a"}},
		"at the writer's endpoint is somebody else":      {inject("a", aurorasim.WrongNode, aurorasim.About("b")), []string{"writer-unproven", "a"}},
		"nobody answers: blind is not the same as quiet": {away("a", "b", "c"), []string{"blind"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Nobody is promoted by itself.
			sim, discovery := simulatedAs(t, aurorasim.Config{Name: "story", Instances: []string{"a", "b", "c"}, FailoverDelay: -1})
			r := driver.NewRemote(t)
			file := driver.ClusterFile(t, discovery, r.URL)
			p := driver.Start(t, "run", "-f", file)
			r.AwaitSubject(1, "first tree")
			before := r.MustGit("for-each-ref")
			check(t, c.inject(sim))
			p.AwaitLine("doubted", c.want[0])
			_, said, code := driver.Once(t, "discover", "-f", file)
			if code != 3 {
				t.Errorf("discover: got exit code %d, want 3", code)
			}
			for _, part := range c.want {
				if !strings.Contains(said, part) {
					t.Errorf("discover: got %q, want %q in it", said, part)
				}
			}
			p.Stop()
			if got := r.MustGit("for-each-ref"); got != before {
				t.Errorf("the remote changed: got %q, want %q", got, before)
			}
		})
	}
}

// inject puts a fault on one instance, or on all for "".
func inject(instance string, f aurorasim.Fault, options ...aurorasim.Option) func(*aurorasim.Cluster) error {
	return func(s *aurorasim.Cluster) error {
		for _, i := range s.State().Instances {
			if instance != "" && i.Name != instance {
				continue
			}
			if err := s.Inject(i.Name, f, options...); err != nil {
				return err
			}
		}
		return nil
	}
}

// afresh puts a fault on an instance and ends the connections that were made before it.
func afresh(instance string, f aurorasim.Fault) func(*aurorasim.Cluster) error {
	return func(s *aurorasim.Cluster) error {
		return errors.Join(s.Inject(instance, f), s.Kill(instance), s.Restart(instance))
	}
}

// away takes instances down.
func away(instances ...string) func(*aurorasim.Cluster) error {
	return func(s *aurorasim.Cluster) (err error) {
		for _, i := range instances {
			err = errors.Join(err, s.Kill(i))
		}
		return err
	}
}

// split makes b a writer by its own word while a still is one, and takes c away, who could tell.
func split(s *aurorasim.Cluster) error {
	if err := s.Kill("c"); err != nil {
		return err
	}
	if err := s.Inject("a", aurorasim.StaleWriter); err != nil {
		return err
	}
	return s.Promote("b")
}
