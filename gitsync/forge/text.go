package forge

import (
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/gitsync/review"
)

const (
	stopMark  = "<!-- poolwright: stopped -->"
	fileLimit = 20 // files named in a comment
)

// body is the whole description.
func (w Wish) body(m mark) string {
	text := strings.TrimSpace(w.Body)
	if m.follows > 0 {
		text += fmt.Sprintf("\n\nFollows #%d, which was closed without a merge.", m.follows)
	}
	return text + "\n\n" + m.String()
}

// stopText says what stands in the way, and what would clear it.
func (w Wish) stopText(files []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nThis branch has edits that poolwright will not overwrite:\n\n", stopMark)
	for _, f := range files[:min(len(files), fileLimit)] {
		fmt.Fprintf(&b, "- `%s`\n", strings.ReplaceAll(f, "`", "'"))
	}
	if n := len(files) - fileLimit; n > 0 {
		fmt.Fprintf(&b, "- and %d more\n", n)
	}
	b.WriteString("\nIt leaves the branch alone until they are taken back (`git revert`), or this pull request is closed or merged. " +
		"To change what poolwright writes, change the declaration of the cluster or its `custom/` directory.\n")
	w.urgency(&b)
	return b.String()
}

// retargetText says that the pull request leads somewhere else.
func (w Wish) retargetText(base string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nThis pull request now has another base than `%s`. "+
		"poolwright leaves it alone until it is set back, closed or merged.\n", stopMark, base)
	w.urgency(&b)
	return b.String()
}

func (w Wish) urgency(b *strings.Builder) {
	if w.Urgent != "" {
		fmt.Fprintf(b, "\nMeanwhile: %s\n", w.Urgent)
	}
}

// closeText is the reason for a close.
func (r *run) closeText(step review.Step) string {
	if step == review.CloseDeclined {
		return fmt.Sprintf("What this pull request proposed is not wished any more, and what is wished now was declined in #%d.", r.no)
	}
	return fmt.Sprintf("`%s` is as it should be now: there is nothing left to change.", r.base)
}
