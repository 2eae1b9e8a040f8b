package pulltext

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// The limits that Write keeps to. GitHub's are 256 and 65536 characters.
const (
	// MaxTitle is in characters.
	MaxTitle = 100
	// MaxBody is in bytes.
	MaxBody = 60_000
)

// Draft is everything that a pull request is about. What is not known is left at its zero value, and the body says so.
type Draft struct {
	Cluster clusters.Cluster
	// Spec identifies the declaration, as in plan.Rules.Spec.
	Spec string
	// LastFacts is render.TrailerFacts of our newest commit, "" when it is not known.
	LastFacts string
	// Declared is what the base branch says: the state that the first step was decided on.
	Declared plan.State
	// Steps are the decisions, each a commit, in their order. At least one; the last one's Want is what the branch says.
	Steps []plan.Plan
	// Before and After are the files of the cluster's directory, on the base branch and on the pull request's.
	Before, After render.Tree
	// BuiltBefore and BuiltAfter are what kustomize makes of them, a stream of YAML; nil when it was not built. What
	// Before is before a first tree, nothing, is built already.
	BuiltBefore, BuiltAfter []byte
	// Seen is the evidence of the decision. The body shows its time: hand on the first that led to these steps, not the newest,
	// or the body is another one after each look. Zero when there is none.
	Seen discovery.Observation
	// Ahead is what is live already, nil when nothing is ahead of Git.
	Ahead *Ahead
	// Declined are the numbers of earlier pull requests of this cluster that were closed unmerged.
	Declined []int
	// Branch is the pull request's, for the command that shows the whole diff.
	Branch string
	// Checked is what was checked and found good, a sentence each.
	Checked []string
	// Commands check it once more, each a line for a shell, on a checkout of Branch.
	Commands []string
	// Limits are for the connection budget.
	Limits Limits
	// RevertHold is how long a person's revert holds the cluster, 0 for as long as the facts stay as they are.
	RevertHold time.Duration
	// Version of poolwright.
	Version string
}

// Ahead is what the live Services say and Git does not yet.
type Ahead struct {
	Writer string
	Epoch  uint64
	Since  time.Time
}

// Limits are what is known of the databases' clients and servers.
type Limits struct {
	// Users is how many users the auth file has, 0 when it is not known.
	Users int
	// Databases is how many databases clients use; those without an entry of their own go by "*". 0 when it is not known.
	Databases int
	// MaxConnections is what an instance has for clients: max_connections without what is reserved. None when it is not known.
	MaxConnections map[string]int
}

// Text is a pull request's description. Title is one line of at most MaxTitle characters, Body GitHub-flavoured Markdown of at most
// MaxBody bytes.
type Text struct {
	Title, Body string
}

// Write writes a draft up. An error means that the draft has no step, or that what was built is no YAML.
func Write(d Draft) (Text, error) {
	if len(d.Steps) == 0 {
		return Text{}, errors.New("writing a pull request: there is no step to write about")
	}
	p, err := newPaper(d)
	if err != nil {
		return Text{}, fmt.Errorf("writing a pull request: %w", err)
	}
	title, trailers, err := p.commit()
	if err != nil {
		return Text{}, fmt.Errorf("writing a pull request: %w", err)
	}
	return Text{Title: title, Body: p.body(trailers)}, nil
}

// paper is a draft with what follows from it.
type paper struct {
	Draft
	want         plan.State
	old, objects objects // before and after
	changes      []change
	topology     discovery.Topology
	files        []string // that differ, sorted
	keyed        keyed
}

func newPaper(d Draft) (*paper, error) {
	p := &paper{Draft: d, want: d.Steps[len(d.Steps)-1].Want, topology: discovery.Merge(d.Seen)}
	p.want.Members, p.Declared.Members = sorted(p.want.Members), sorted(d.Declared.Members)
	p.Declined = slices.Sorted(slices.Values(d.Declined))
	for file := range union(d.Before, d.After) {
		if before, had := d.Before[file]; !had || string(before) != string(d.After[file]) {
			p.files = append(p.files, file)
		}
	}
	slices.Sort(p.files)
	p.keyed = p.sift(render.Summary(d.Before, d.After))
	if d.BuiltAfter == nil || d.BuiltBefore == nil && d.Declared.Epoch > 0 {
		return p, nil
	}
	var err error
	if p.old, err = readObjects(d.BuiltBefore); err != nil {
		return nil, fmt.Errorf("reading what was built before: %w", err)
	}
	if p.objects, err = readObjects(d.BuiltAfter); err != nil {
		return nil, fmt.Errorf("reading what was built: %w", err)
	}
	p.changes = compare(p.old, p.objects)
	return p, nil
}

func sorted(members []plan.Member) []plan.Member {
	return slices.SortedStableFunc(slices.Values(members), func(a, b plan.Member) int { return strings.Compare(a.Name, b.Name) })
}

func union(a, b render.Tree) render.Tree {
	all := maps.Clone(a)
	if all == nil {
		all = render.Tree{}
	}
	maps.Copy(all, b)
	return all
}

// built reports whether both sides were.
func (p *paper) built() bool { return p.objects != nil }

// class is that of the first step: the one with the most at stake comes first.
func (p *paper) class() plan.Class { return p.Steps[0].Class }

// first reports whether there was no tree before.
func (p *paper) first() bool { return p.Declared.Epoch == 0 }

// writerMoves reports whether another instance is to be the writer.
func (p *paper) writerMoves() bool { return !p.first() && p.Declared.Writer != p.want.Writer }

// commit is the subject and the trailers that one commit with everything would have.
func (p *paper) commit() (title string, trailers []string, err error) {
	message, err := render.Message(p.Cluster, render.Draft{
		Decided:  plan.Plan{Action: p.Steps[0].Action, Class: p.class(), Want: p.want},
		Declared: p.Declared, Spec: p.Spec, LastFacts: p.LastFacts, Files: p.files,
	})
	if err != nil {
		return "", nil, err
	}
	subject, _, _ := strings.Cut(message, "\n")
	end := fmt.Sprintf(" (epoch %d)", p.want.Epoch)
	subject = plain(oneLine(strings.TrimSuffix(subject, end) + p.andThen()))
	return shortened(subject, MaxTitle-len(end)) + end, p.trailers(), nil
}

// shortened ends with a whole word where that costs little.
func shortened(s string, n int) string {
	short := clipped(s, n)
	if blank := strings.LastIndexByte(short, ' '); short != s && blank > len(short)/2 {
		short = strings.TrimRight(short[:blank], " ,") + "…"
	}
	return short
}

// andThen names the classes of later steps that the subject does not tell of.
func (p *paper) andThen() string {
	var later []string
	for _, s := range p.Steps[1:] {
		word := s.Class.String()
		told := !p.writerMoves() && s.Class != plan.ConfigChange || s.Class == p.class()
		if !told && !slices.Contains(later, word) {
			later = append(later, word)
		}
	}
	if len(later) == 0 {
		return ""
	}
	return ", then " + strings.Join(later, " and ")
}

// plain has no character that a forge gives a meaning to.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" ,.:/()-_→…", r) {
			return r
		}
		return '?'
	}, s)
	return inert(s)
}

// trailers say to poolwright what a squashed commit is.
func (p *paper) trailers() []string {
	return []string{
		render.TrailerCluster + ": " + inert(notInName.ReplaceAllString(p.Cluster.Metadata.Name, "?")),
		fmt.Sprintf("%s: %d", render.TrailerEpoch, p.want.Epoch),
		render.TrailerChange + ": " + p.class().String(),
		render.TrailerFacts + ": " + p.want.Facts(p.Spec),
	}
}

// notInName is what no cluster's name has.
var notInName = regexp.MustCompile(`[^0-9A-Za-z-]`)

// body joins the parts. The diff has the room that the others leave.
func (p *paper) body(trailers []string) string {
	blocks := slices.Concat(
		p.verdict(), p.why(), p.members(), p.keys(), p.evidence(), p.resources(), p.connections(), p.checks(), p.outcomes(), p.rollback(),
	)
	top := joined(blocks)
	end := joined(append(p.footer(), paragraph(markdown(strings.Join(trailers, "\n")))))
	diff := p.diff(MaxBody - len(top) - len(end) - 2)
	return top + "\n" + joined(diff) + "\n" + end
}

func (p *paper) footer() []block {
	version := say("poolwright")
	if p.Version != "" {
		version = say("poolwright %s", p.Version)
	}
	return []block{paragraph(version + say(" wrote this from the format %s. The same facts give the same files.", clusters.APIVersion))}
}
