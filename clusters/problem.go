package clusters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Problem is one thing that is wrong with a Cluster file. It never repeats a value that could be a credential.
type Problem struct {
	File    string // as given to Load
	Line    int    // first line is 1; 0 when the problem has no place
	Path    string // dotted, from the root: spec.pgbouncer.instanceOverrides[0].name
	Message string // what is wrong
	Hint    string // what to do; may be empty
}

// String is the problem on one line, and its hint on a second.
func (p Problem) String() string {
	var parts []string
	if place := p.place(); place != "" {
		parts = append(parts, place)
	}
	if p.Path != "" {
		parts = append(parts, p.Path)
	}
	text := strings.Join(append(parts, p.Message), ": ")
	if p.Hint != "" {
		text += "\nhint: " + p.Hint
	}
	return text
}

func (p Problem) place() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.File == "":
		return fmt.Sprintf("line %d", p.Line)
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Errors is everything that is wrong with a Cluster file, sorted by line. Load and Import return it as error.
type Errors []Problem

// maxShown bounds the text, not the list.
const maxShown = 50

// Error is one line per problem, each followed by its hint.
func (e Errors) Error() string {
	var lines []string
	for _, p := range e[:min(len(e), maxShown)] {
		lines = append(lines, p.String())
	}
	if more := len(e) - maxShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more problems", more))
	}
	return strings.Join(lines, "\n")
}

// place is where a path stands in the file.
type place struct {
	line   int
	parent *yaml.Node // mapping or sequence
	child  *yaml.Node // key of the mapping, item of the sequence
}

// finding is a problem and whether Import may leave its key out instead of giving up.
type finding struct {
	Problem
	drop bool
}

// report collects the findings of one file.
type report struct {
	file     string
	places   map[string]place
	bad      map[string]bool // paths whose value could not be read: later rules do not speak about them again
	findings []finding
}

func newReport(file string) *report {
	return &report{file: file, places: map[string]place{}, bad: map[string]bool{}}
}

// unread reports a value that could not be read.
func (r *report) unread(at, message, hint string) {
	r.add(at, message, hint, false)
	r.bad[at] = true
}

// wrong reports a value that breaks a rule.
func (r *report) wrong(at, message, hint string) {
	if !r.isBad(at) {
		r.add(at, message, hint, false)
	}
}

// refuse reports a key that Import may leave out.
func (r *report) refuse(at, message, hint string) {
	if !r.isBad(at) {
		r.add(at, message, hint, true)
	}
}

func (r *report) add(at, message, hint string, drop bool) {
	p := Problem{File: r.file, Line: r.line(at), Path: at, Message: message, Hint: hint}
	r.findings = append(r.findings, finding{p, drop})
}

func (r *report) isBad(at string) bool {
	for ; at != ""; at = parentPath(at) {
		if r.bad[at] {
			return true
		}
	}
	return false
}

// line is the line of the path, or of the nearest part of it that the file has.
func (r *report) line(at string) int {
	for ; at != ""; at = parentPath(at) {
		if p, ok := r.places[at]; ok {
			return p.line
		}
	}
	return r.places[""].line
}

// parentPath cuts the last step, or a part of it when a quoted key holds a dot: such a path is in no table.
func parentPath(at string) string { return at[:max(strings.LastIndexAny(at, ".["), 0)] }

// errors is nil when nothing is wrong.
func (r *report) errors() error {
	if len(r.findings) == 0 {
		return nil
	}
	slices.SortStableFunc(r.findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	e := make(Errors, len(r.findings))
	for i, f := range r.findings {
		e[i] = f.Problem
	}
	return e
}
