package pulltext

import (
	"fmt"
	"strings"
)

// block is one part of a body: lines that may be cut at the end, and what stands around them.
type block struct {
	head  markdown // with its line end, "" for none
	lines []markdown
	foot  markdown
	// limit of the lines in bytes.
	limit int
	// lost says what is missing when lines were cut: "%d more instances".
	lost string
}

// text is the block as it stands in the body.
func (b block) text() string {
	var w strings.Builder
	w.WriteString(string(b.head))
	room, left := b.limit, len(b.lines)
	for _, l := range b.lines {
		if room -= len(l) + 1; room < 0 {
			break
		}
		w.WriteString(string(l) + "\n")
		left--
	}
	w.WriteString(string(b.foot))
	if left > 0 {
		fmt.Fprintf(&w, "\nLeft out for length: "+b.lost+".\n", left)
	}
	return strings.TrimRight(w.String(), "\n") + "\n"
}

func paragraph(text markdown) block { return block{head: text + "\n"} }

func heading(text markdown) block { return paragraph("### " + text) }

// list is a bullet list.
func list(limit int, lost string, items []markdown) block {
	b := block{limit: limit, lost: lost}
	for _, i := range items {
		b.lines = append(b.lines, "- "+i)
	}
	return b
}

// table has a row for each of rows. A column whose title ends with a colon has numbers, which are aligned right.
func table(limit int, lost string, titles []markdown, rows [][]markdown) block {
	rules := make([]markdown, len(titles))
	names := make([]markdown, len(titles))
	for i, t := range titles {
		rules[i], names[i] = ":--", t
		if name, numeric := strings.CutSuffix(string(t), ":"); numeric {
			rules[i], names[i] = "--:", markdown(name)
		}
	}
	b := block{head: row(names) + "\n" + row(rules) + "\n", limit: limit, lost: lost}
	for _, cells := range rows {
		b.lines = append(b.lines, row(cells))
	}
	return b
}

func row(cells []markdown) markdown {
	var w strings.Builder
	w.WriteByte('|')
	for _, c := range cells {
		w.WriteString(" " + strings.ReplaceAll(string(c), "|", `\|`) + " |")
	}
	return markdown(w.String())
}

// fenced is a block of foreign lines as code.
func fenced(limit int, lost, language string, lines []string) block {
	b := block{limit: limit, lost: lost}
	for _, l := range lines {
		b.lines = append(b.lines, markdown(codeLine(l)))
	}
	fence := markdown(fenceFor(strings.Join(lines, "\n"), 3))
	b.head, b.foot = fence+markdown(language)+"\n", fence+"\n"
	return b
}

// folded hides b behind a line that opens it.
func (b block) folded(summary markdown) block {
	b.head = "<details><summary>" + summary + "</summary>\n\n" + b.head
	b.foot += "\n</details>\n"
	return b
}

// joined is the text of blocks with an empty line between two.
func joined(blocks []block) string {
	texts := make([]string, len(blocks))
	for i, b := range blocks {
		texts[i] = b.text()
	}
	return strings.Join(texts, "\n")
}

// enumerated is "a", "a and b" or "a, b and c".
func enumerated(words []markdown) markdown {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return joinedBy(words[:n-1], ", ") + " and " + words[n-1]
	}
}

func joinedBy(words []markdown, separator string) markdown {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return markdown(strings.Join(list, separator))
}

// spans are names as code: the first n, and the number of the others.
func spans(n int, names []string) markdown {
	var words []markdown
	for i, name := range names {
		if i == n {
			words = append(words, say("%d more", len(names)-n))
			break
		}
		words = append(words, span(name))
	}
	return enumerated(words)
}

// counted is "1 pod" or "2 pods".
func counted(n int, noun markdown) markdown {
	if n != 1 {
		noun += "s"
	}
	return say("%d %s", n, noun)
}
