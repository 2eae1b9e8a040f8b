package gitsync

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitattributes"
)

const attributesFile = ".gitattributes"

// eachAttributes calls f for every .gitattributes from the root down to dir, with the directory it is in.
func (v *view) eachAttributes(root hash, dir string, f func(dir string, e entry)) error {
	parts := components(dir)
	for n := range len(parts) + 1 {
		e, ok, err := v.lookup(root, append(slices.Clone(parts[:n]), attributesFile))
		if err != nil {
			return err
		}
		if ok && isFileMode(e.mode) {
			f(strings.Join(parts[:n], "/"), e)
		}
	}
	return nil
}

// checkAttributes refuses files which Git would pass through a filter on the way in. We write what is stored,
// so they would be wrong there (LFS, git-crypt) or show as modified in every checkout (line ends).
func (v *view) checkAttributes(root hash, c Change) error {
	for path, content := range c.Put {
		full := join(c.Dir, path)
		parts := components(full)
		rules, err := v.attributes(root, strings.Join(parts[:len(parts)-1], "/"))
		if err != nil {
			return err
		}
		if why := conversion(effective(rules, parts), content); why != "" {
			return pathFault(full, "has "+why+" in "+attributesFile+": its content would need a conversion that is not done here")
		}
	}
	return nil
}

// attributes is the rules for the files of a directory, the weakest first.
func (v *view) attributes(root hash, dir string) ([]gitattributes.MatchAttribute, error) {
	var rules []gitattributes.MatchAttribute
	var bad error
	err := v.eachAttributes(root, dir, func(at string, e entry) {
		data, ok := v.blobs[e.hash]
		if !ok {
			bad = errStale
			return
		}
		for line := range bytes.Lines(data) {
			// A line git would not understand does not count there either.
			if m, err := gitattributes.ParseAttributesLine(string(line), components(at), at == ""); err == nil && m.Name != "" {
				rules = append(rules, m)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return rules, bad
}

// effective is what the rules say about a path: a later rule wins over an earlier one. (go-git's own matcher
// lets the earlier one win.)
func effective(rules []gitattributes.MatchAttribute, path []string) map[string]gitattributes.Attribute {
	macros, out := map[string][]gitattributes.Attribute{}, map[string]gitattributes.Attribute{}
	for _, r := range rules {
		switch {
		case r.Pattern == nil:
			macros[r.Name] = r.Attributes
		case r.Pattern.Match(path):
			for _, a := range r.Attributes {
				if a.IsSet() {
					for _, m := range macros[a.Name()] {
						out[m.Name()] = m
					}
				}
				out[a.Name()] = a
			}
		}
	}
	return out
}

// conversion names the attribute that would change the content on its way in, "" when none does.
func conversion(got map[string]gitattributes.Attribute, content []byte) string {
	for _, name := range []string{"filter", "working-tree-encoding"} {
		if a, ok := got[name]; ok && a.IsValueSet() {
			return fmt.Sprintf("%s=%s", name, a.Value())
		}
	}
	if a, ok := got["eol"]; ok && a.Value() == "crlf" {
		return "eol=crlf"
	}
	for _, name := range []string{"text", "eol", "crlf"} {
		if a, ok := got[name]; ok && (a.IsSet() || a.IsValueSet()) && bytes.Contains(content, []byte("\r\n")) {
			return name + " but CRLF line ends"
		}
	}
	return ""
}
