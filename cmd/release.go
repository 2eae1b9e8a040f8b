package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/live"
	"github.com/poolwright/poolwright/render"
)

// ReleaseCmd hands the role Services back to Git by a person's word.
type ReleaseCmd struct {
	SiteFlags `embed:""`
	Force     bool `help:"Also when what is applied from Git is older than the override."`
}

// Help is shown by --help.
func (ReleaseCmd) Help() string {
	return "It takes what is poolwright's off the Services: the annotation, the freeze, the entry in managedFields, the mirrored record and the order. " +
		"A poolwright that runs does this by itself once Git's commit is applied; this is for when none does, or to give an override up.\n\n" +
		example("poolwright release --cluster example-pg -n databases")
}

// Run hands back.
func (c ReleaseCmd) Run(ctx context.Context, std *Stdio) error {
	s, err := c.reach(ctx)
	if err != nil {
		return err
	}
	return s.release(ctx, std.Out, c.Force)
}

func (s site) release(ctx context.Context, out io.Writer, force bool) error {
	sight, err := s.look(ctx)
	if err != nil {
		return err
	}
	if sight.Control.Order == nil && len(live.HandBack(sight)) == 0 {
		fmt.Fprintf(out, "nothing of poolwright's is on the Services of %s: they are Git's\n", s.names.Cluster)
		return nil
	}
	behind := s.behind(sight)
	if behind != "" && !force {
		return exitf(ExitRefused, s.command("release", "--force"), "releasing the Services of %s: %s", s.names.Cluster, behind)
	}
	if sight.Control.Order != nil {
		if err := s.say(ctx, word{wordOrder: nil}); err != nil {
			return err
		}
		fmt.Fprintf(out, "taken back  the order for %s\n", printable(sight.Control.Order.Writer))
	}
	if err := s.handBack(ctx, out, sight); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s\n", s.names.Cluster, cmp.Or(behind, "Git has what the Services select, and owns them again"))
	return nil
}

// handBack strips every Service, and then forgets the record. A Service that
// somebody wrote meanwhile is looked at again.
func (s site) handBack(ctx context.Context, out io.Writer, sight live.Sight) error {
	var failed error
	for range passes {
		if failed = s.strip(ctx, out, sight); failed == nil {
			return nil
		}
		if live.CodeOf(failed) != 0 || ctx.Err() != nil {
			break
		}
		var err error
		if sight, err = s.look(ctx); err != nil {
			return err
		}
	}
	return apiProblem(failed, "releasing the Services of "+s.names.Cluster)
}

func (s site) strip(ctx context.Context, out io.Writer, sight live.Sight) error {
	for _, w := range live.HandBack(sight) {
		bounded, cancel := context.WithTimeout(ctx, siteTimeout)
		err := live.Do(bounded, s.kube, s.names, w)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		fmt.Fprintf(out, "%-11s %s\n", released[w.Kind], w.Name)
	}
	return nil
}

var released = map[live.WriteKind]string{live.Release: "released", live.Forget: "forgot"}

// behind says what would happen when the Services are released now, "" when Git
// has what they select.
func (s site) behind(sight live.Sight) string {
	r := sight.Record()
	if r == nil {
		return ""
	}
	applied, owner := sight.Receipt, live.Owner{}
	for _, role := range []live.Role{live.Writer, live.Reader} {
		svc := sight.Services[role]
		if svc == nil {
			continue
		}
		if n, err := strconv.ParseUint(receiptOf(svc), 10, 64); err != nil || n < applied {
			applied = n
		}
		owner = live.OwnerOf(svc)
	}
	state, err := s.state(sight)
	if err == nil && applied >= r.Epoch && sameMembership(*r, render.Select(s.names.Cluster, state)) {
		return ""
	}
	return fmt.Sprintf("what is applied from Git is epoch %d, the override is epoch %d: %s", applied, r.Epoch, returns(owner, cmp.Or(state.Writer, "the writer that Git declares")))
}

// returns says what an owner does to a Service that is released too early.
func returns(o live.Owner, git string) string {
	switch o.Tool {
	case live.NoTool:
		return "they stay as they are until somebody applies Git, which goes back to " + git
	case live.ArgoCD:
		return strings.TrimSpace(ownerText(o)) + " puts them back to " + git + ", at once where self-heal is on"
	}
	return ownerText(o) + " puts them back to " + git + " when it reconciles next"
}
