package pulltext

import (
	"strings"

	"github.com/poolwright/poolwright/render"
)

// keys is the difference key by key: what moves traffic, then settings and objects, then poolwright's own record.
func (p *paper) keys() []block {
	var traffic, settings, record []string
	for line := range strings.Lines(render.Summary(p.Before, p.After)) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.Contains(line, " selector "):
			traffic = append(traffic, line)
		case p.isRecord(line):
			record = append(record, line)
		default:
			settings = append(settings, line)
		}
	}
	blocks := []block{heading("What changes, key by key")}
	for _, part := range []struct {
		title markdown
		limit int
		lines []string
	}{
		{"Moves traffic:", 5_000, traffic},
		{"Settings, objects and files:", 7_000, settings},
		{"poolwright's own record of it:", 3_000, record},
	} {
		if len(part.lines) > 0 {
			blocks = append(blocks, paragraph(part.title), fenced(part.limit, "%d more changed keys", "text", part.lines))
		}
	}
	if len(blocks) == 1 {
		blocks = append(blocks, paragraph("No key: comments or the layout of a file."))
	}
	return blocks
}

// isRecord tells the epoch's annotations and the topology ConfigMap.
func (p *paper) isRecord(line string) bool {
	return strings.HasPrefix(line, "ConfigMap "+render.TopologyName(p.Cluster)+" ") || strings.Contains(line, " annotations "+render.AnnotationEpoch+":")
}

// diff is the unified diff, folded, in at most room bytes.
func (p *paper) diff(room int) []block {
	lines := strings.Split(strings.TrimRight(string(render.Unified(p.Before, p.After)), "\n"), "\n")
	plus, minus := 0, 0
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "+") && !strings.HasPrefix(l, "+++ "):
			plus++
		case strings.HasPrefix(l, "-") && !strings.HasPrefix(l, "--- "):
			minus++
		}
	}
	summary := say("The whole difference: %s, %d lines more and %d less", counted(len(p.files), "file"), plus, minus)
	b := fenced(room, "%d more lines of the difference", "diff", lines).folded(summary)
	rest := p.rest()
	b.limit = room - len(b.head) - len(b.foot) - len(rest.text()) - len(b.lost) - 100
	if size(b.lines) <= b.limit {
		return []block{b}
	}
	return []block{b, rest}
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
