package pulltext

import (
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
)

// keyed is the difference key by key: what moves traffic, then settings and objects, then poolwright's own record.
type keyed struct{ selectors, settings, record []string }

func (p *paper) sift(summary string) (k keyed) {
	for line := range strings.Lines(summary) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "Service ") && strings.Contains(line, " selector "):
			k.selectors = append(k.selectors, line)
		case p.isRecord(line):
			k.record = append(k.record, line)
		default:
			k.settings = append(k.settings, line)
		}
	}
	return k
}

// keys shows them, the one risky line on top.
func (p *paper) keys() []block {
	blocks := []block{heading("What changes, key by key")}
	add := func(title markdown, limit int, lines []string) {
		if len(lines) > 0 {
			blocks = append(blocks, paragraph(title), fenced(limit, "%d more changed keys", "text", lines))
		}
	}
	add("The selectors of the role Services"+p.slots()+":", 5_000, p.keyed.selectors)
	add("Settings, objects and files:", 7_000, p.keyed.settings)
	add("poolwright's own record:", 3_000, p.keyed.record)
	if len(blocks) == 1 {
		blocks = append(blocks, paragraph("No key: comments, or the layout of a file."))
	}
	return blocks
}

// slots says who is behind the numbers in the Reader's selector.
func (p *paper) slots() markdown {
	var who []markdown
	for n := range plan.Slots {
		mentioned := slices.ContainsFunc(p.keyed.selectors, func(l string) bool { return strings.Contains(l, " "+render.SlotLabel(n)+":") })
		if name := p.inSlot(n); mentioned && name != "" {
			who = append(who, say("%d is %s", n, span(name)))
		}
	}
	if len(who) == 0 {
		return ""
	}
	return " (a slot that is `out` gets no readers; " + enumerated(who) + ")"
}

// inSlot is the member of that slot, or who was.
func (p *paper) inSlot(n int) string {
	for _, m := range slices.Concat(p.want.Members, p.Declared.Members) {
		if m.Slot == n {
			return m.Name
		}
	}
	return ""
}

// isRecord tells the epoch's annotations and the topology ConfigMap.
func (p *paper) isRecord(line string) bool {
	return strings.HasPrefix(line, "ConfigMap "+render.TopologyName(p.Cluster)+" ") || strings.Contains(line, " annotations "+render.AnnotationEpoch+":")
}

// diff is the unified diff, folded, in at most room bytes. What moves traffic comes first and the record last, whatever is cut.
func (p *paper) diff(room int) []block {
	lines := p.unified()
	plus, minus := 0, 0
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "+") && !strings.HasPrefix(l, "+++ "):
			plus++
		case strings.HasPrefix(l, "-") && !strings.HasPrefix(l, "--- "):
			minus++
		}
	}
	summary := say("The whole difference: %s, +%d −%d lines", counted(len(p.files), "file"), plus, minus)
	b := fenced(room, "%d more lines of the difference", "diff", lines).folded(summary)
	rest := p.rest()
	b.limit = room - len(b.head) - len(b.foot) - len(rest.text()) - len(b.lost) - 100
	if size(b.lines) <= b.limit {
		return []block{b}
	}
	return []block{b, rest}
}

func (p *paper) unified() (lines []string) {
	for _, group := range []func(file string) bool{
		func(file string) bool { return file == render.ServicesFile },
		func(file string) bool { return file != render.ServicesFile && file != render.TopologyFile },
		func(file string) bool { return file == render.TopologyFile },
	} {
		for line := range strings.Lines(string(render.Unified(only(p.Before, group), only(p.After, group)))) {
			lines = append(lines, showBlanks(strings.TrimSuffix(line, "\n")))
		}
	}
	return lines
}

// only is the part of a tree that belongs to a group.
func only(t render.Tree, group func(file string) bool) render.Tree {
	part := maps.Clone(t)
	maps.DeleteFunc(part, func(file string, _ []byte) bool { return !group(file) })
	return part
}

// showBlanks makes what a changed line ends with visible.
func showBlanks(line string) string {
	end := len(strings.TrimRight(line, " \t"))
	if end < 1 || end == len(line) || line[0] != '+' && line[0] != '-' {
		return line
	}
	return line[:end] + strings.Repeat("␠", len(line)-end)
}

func size(lines []markdown) (n int) {
	for _, l := range lines {
		n += len(l) + 1
	}
	return n
}

// rest says how to see what was cut.
func (p *paper) rest() block {
	command := "git diff " + quoted("origin/"+p.Cluster.Spec.Publish.Branch+"..."+"origin/"+p.Branch) + " -- " + quoted(p.Cluster.Dir())
	b := fenced(2_000, "%d more lines", "sh", []string{command})
	b.head = "The whole is on the tab *Files changed*, and here:\n\n" + b.head
	return b
}

// quoted is one word for a shell.
func quoted(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !strings.ContainsRune(shellSafe, r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

const shellSafe = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_%+=:,./-"
