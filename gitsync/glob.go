package gitsync

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// glob is a pattern for paths from the root of the repository: [path.Match] for each component, and ** for any number
// of directories, also none.
type glob string

// anything matches every path.
const anything glob = "**/*"

const anyDepth = "**"

// parseGlob checks a pattern. A component that could never be written, such as .., is refused.
func parseGlob(pattern string) (glob, error) {
	g := strings.TrimPrefix(pattern, "./")
	if err := checkPath(strings.ReplaceAll(g, `\`, "")); err != nil {
		return "", err
	}
	for c := range strings.SplitSeq(g, "/") {
		if _, err := path.Match(c, ""); err != nil {
			return "", pathFault(pattern, fmt.Sprintf("is no pattern (%q)", c))
		}
	}
	return glob(g), nil
}

func (g glob) components() []string { return strings.Split(string(g), "/") }

// fixed is the directory above the first component that stands for more than one name, and what follows.
func (g glob) fixed() (dir string, rest []string) {
	parts := g.components()
	n := slices.IndexFunc(parts, func(c string) bool { return strings.ContainsAny(c, `*?[\`) })
	if n < 0 {
		n = len(parts) - 1
	}
	return strings.Join(parts[:n], "/"), parts[n:]
}

// start is where a pattern stands before the first name: the components that may come next.
func (w *walk) start() []int { return w.past(nil, 0) }

// past adds the place n, and those behind it that are reached over a ** which stands for nothing.
func (w *walk) past(at []int, n int) []int {
	for ; n <= len(w.glob) && !slices.Contains(at, n); n++ {
		at = append(at, n)
		if n == len(w.glob) || w.glob[n] != anyDepth {
			break
		}
	}
	return at
}

// step is where the pattern stands after another name.
func (w *walk) step(at []int, name string) []int {
	var next []int
	for _, n := range at {
		switch {
		case n == len(w.glob):
		case w.glob[n] == anyDepth:
			next = w.past(next, n)
		default:
			if ok, _ := path.Match(w.glob[n], name); ok {
				next = w.past(next, n+1)
			}
		}
	}
	return next
}

func (w *walk) matches(at []int) bool { return slices.Contains(at, len(w.glob)) }

// goesOn tells whether something below can match.
func (w *walk) goesOn(at []int) bool {
	return slices.ContainsFunc(at, func(n int) bool { return n < len(w.glob) })
}
