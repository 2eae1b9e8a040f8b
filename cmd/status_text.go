package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/poolwright/poolwright/live"
)

// writeStatus writes one cluster for people.
func writeStatus(w io.Writer, s statusView, now time.Time) error {
	fmt.Fprintf(w, "%s/%s\n", s.Namespace, s.Cluster)
	rows := [][]string{
		{"  declared", s.Declared.text()},
		{"  observed", s.Observed.text()},
		{"  decided", s.Decided.text()},
		{"  live", s.Live.text()},
		{"  states", statesText(s.States)},
	}
	if p := s.PullRequest; p != nil {
		rows = append(rows, []string{"  pull", p.text(now)})
	}
	if a := s.Ahead; a != nil {
		rows = append(rows, []string{"  ahead", a.text(now)})
	}
	if o := s.Order; o != nil {
		rows = append(rows, []string{"  order", fmt.Sprintf("%s until %s (%s left), by %s: %s", o.Writer, stamp(o.Until), o.Until.Sub(now).Round(time.Second), o.By, o.Reason)})
	}
	if p := s.Pause; p != nil {
		rows = append(rows, []string{"  paused", fmt.Sprintf("since %s, by %s: %s", stamp(p.At), p.By, p.Reason)})
	}
	if e := s.Eviction; e != nil && len(e.From) > 0 {
		rows = append(rows, []string{"  clients", clientsText(*e, now)})
	}
	if s.PauseUnknown != "" {
		rows = append(rows, []string{"  paused", "not known: " + s.PauseUnknown})
	}
	for _, p := range s.Proofs {
		rows = append(rows, []string{"  proof", p.Text})
	}
	rows = append(rows, []string{"  holder", s.Holder.text(now)})
	if err := table(w, rows); err != nil {
		return err
	}
	if err := writeServices(w, s.Live.Services); err != nil {
		return err
	}
	writeConditions(w, s)
	writeBreakGlass(w, s.BreakGlass)
	return nil
}

// clientsText is the eviction that was last, or is under way.
func clientsText(e live.Eviction, now time.Time) string {
	from := strings.Join(e.From, ", ")
	if e.Open() {
		return fmt.Sprintf("being taken off %s for %s: %d cut, %d seen again on %s", from, now.Sub(e.At).Round(time.Second), e.Evicted, e.Returned, e.To)
	}
	return fmt.Sprintf("were taken off %s at %s, in %s: %d cut, %d seen again on %s", from, stamp(e.At), e.Done.Sub(e.At).Round(100*time.Millisecond), e.Evicted, e.Returned, e.To)
}

func (d declaredView) text() string {
	var words []string
	if d.Epoch > 0 {
		words = append(words, fmt.Sprintf("epoch %d, writer %s", d.Epoch, orDash(d.Writer)))
	}
	switch {
	case d.Error != "":
		words = append(words, "Git cannot be read: "+d.Error)
	case d.Source == "git":
		words = append(words, "at commit "+short(d.Head))
	case d.Source == "applied":
		words = append(words, "as applied; Git was not read")
	default:
		words = append(words, "not known")
	}
	return strings.Join(words, ", ")
}

func (o observedView) text() string {
	switch {
	case o.Error != "":
		return "the databases cannot be asked: " + o.Error
	case !o.Asked:
		return "not asked, for want of a Cluster file"
	case o.Trusted:
		return "writer " + orDash(o.Writer)
	}
	words := make([]string, len(o.Doubts))
	for i, d := range o.Doubts {
		words[i] = strings.TrimSpace(d.Instance + " " + d.Code)
	}
	return "in doubt: " + strings.Join(words, ", ")
}

func (d decidedView) text() string {
	switch {
	case d.Error != "":
		return "nothing: " + d.Error
	case d.Action == "":
		return "nothing, for want of evidence"
	}
	return fmt.Sprintf("%s, epoch %d, writer %s", d.Action, d.Epoch, orDash(d.Writer))
}

func (l liveView) text() string {
	switch {
	case len(l.Services) == 0:
		return "cannot be seen: " + l.Error
	case l.Error != "":
		return l.Error
	}
	return fmt.Sprintf("%s, epoch %d applied", l.Phase, l.Receipt)
}

func statesText(states []stateView) string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = s.State + " " + s.Reached
		if s.Epoch > 0 {
			words[i] += fmt.Sprintf(" (%d)", s.Epoch)
		}
	}
	return strings.Join(words, " → ")
}

func (a aheadView) text(now time.Time) string {
	text := fmt.Sprintf("live ahead of Git since %s (%s): %s → %s, epoch %d", stamp(a.Since), now.Sub(a.Since).Round(time.Second), orDash(a.From), orDash(a.To), a.Epoch)
	if a.Reason != "" {
		text += ", " + a.Reason
	}
	if a.By != "" {
		text += ", by " + a.By
	}
	return text
}

func (h holderView) text(now time.Time) string {
	switch {
	case h.Error != "":
		return "not known: " + h.Error
	case h.Lease == "":
		return "not looked for"
	case h.Identity == "":
		return "nobody holds lease " + h.Lease + " (another one: --lease, --lease-namespace)"
	case !h.Alive:
		return fmt.Sprintf("%s, which has not renewed lease %s since %s", h.Identity, h.Lease, stamp(h.Renewed))
	case h.Neglects:
		return fmt.Sprintf("%s holds lease %s and keeps other clusters (%s): nobody keeps this one; hint: %s", h.Identity, h.Lease, few(h.Clusters), neglectHint)
	}
	return fmt.Sprintf("%s, renewed %s ago", h.Identity, max(0, now.Sub(h.Renewed)).Round(time.Second))
}

func writeServices(w io.Writer, services []liveServiceView) error {
	if len(services) == 0 {
		return nil
	}
	rows := [][]string{{"  SERVICE", "SELECTS", "RECEIPT", "OWNER", "SELECTOR"}}
	for _, s := range services {
		if !s.Exists {
			rows = append(rows, []string{"  " + s.Name, "does not exist"})
			continue
		}
		owner := s.Owner
		if s.Frozen {
			owner += ", frozen"
		}
		rows = append(rows, []string{"  " + s.Name, s.Selects, orDash(s.Receipt), owner, selectorText(s.Selector)})
	}
	return table(w, rows)
}

// writeConditions writes reasons, doubts and conditions with their hints.
func writeConditions(w io.Writer, s statusView) {
	for _, r := range s.Decided.Reasons {
		fmt.Fprintf(w, "  - %s\n", printable(r.Text))
	}
	for _, d := range s.Observed.Doubts {
		fmt.Fprintf(w, "  - %s\n", printable(strings.TrimSpace(d.Instance+" "+d.Code+" "+d.Detail)))
	}
	for _, c := range s.Conditions {
		fmt.Fprintf(w, "  - %s\n", printable(c.String()))
		if c.Hint != "" {
			fmt.Fprintf(w, "    hint: %s\n", printable(c.Hint))
		}
	}
}

func writeBreakGlass(w io.Writer, lines []string) {
	if len(lines) == 0 {
		return
	}
	last := len(lines) - 1
	fmt.Fprintln(w, "  without poolwright, this moves the Services by hand:")
	for _, line := range lines[:last] {
		fmt.Fprintf(w, "    %s\n", line)
	}
	fmt.Fprintf(w, "  and this gives them back to Git:\n    %s\n", lines[last])
}
