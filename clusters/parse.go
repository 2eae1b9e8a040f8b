package clusters

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxSize of a file, in bytes: far above any real one.
const maxSize = 1 << 20

// parse reads the one YAML document of a file; what is wrong goes to the report, and then the node is nil.
func (r *report) parse(data []byte) *yaml.Node {
	if len(data) > maxSize {
		r.add("", fmt.Sprintf("the file has %d bytes; at most %d are read", len(data), maxSize), "", false)
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && isNull(doc.Content[0]) {
		r.atLine(1, "the file is empty", "clusters/example/cluster.yaml shows a whole one")
		return nil
	}
	if err == nil {
		err = dec.Decode(&second)
	}
	switch {
	case err == nil:
		r.atLine(second.Line, "a second YAML document starts here", "one file declares one cluster: give each its own file")
	case !errors.Is(err, io.EOF):
		r.syntax(err, data)
	default:
		return doc.Content[0]
	}
	return nil
}

func (r *report) atLine(line int, message, hint string) {
	r.findings = append(r.findings, finding{Problem: Problem{File: r.file, Line: line, Message: message, Hint: hint}})
}

var (
	yamlError   = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)
	anchorError = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	tabIndented = regexp.MustCompile(`^ *\t`)
)

// syntax reports what the YAML parser says.
func (r *report) syntax(err error, data []byte) {
	message, line := err.Error(), 0
	if m := yamlError.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1]) // 0 when the parser does not know
		message = m[2]
	}
	if m := anchorError.FindStringSubmatch(message); m != nil {
		before, _, _ := bytes.Cut(data, []byte("*"+m[1]))
		line = 1 + bytes.Count(before, []byte("\n"))
	}
	if tab := tabLine(data, line); tab > 0 {
		r.atLine(tab, "the line is indented with a tab", "YAML indents with spaces")
		return
	}
	r.atLine(line, "reading YAML: "+message, "")
}

// tabLine is the line indented with a tab at or next to the line the parser stumbled over, or 0.
func tabLine(data []byte, near int) int {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if n := i + 1; near-1 <= n && n <= near+1 && tabIndented.Match(line) {
			return n
		}
	}
	return 0
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
