package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// goldens is where the product's tests keep them.
const goldens = "../../render/pulltext/testdata"

func all(t *testing.T) []description {
	t.Helper()
	list, err := readAll(goldens)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// outline is the structure of a body: each block, and each inline that is more than text or code, with its depth.
func outline(t *testing.T, body []byte) (lines []string) {
	t.Helper()
	depth := 0
	err := ast.Walk(markdown().Parser().Parse(text.NewReader(body)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			depth--
			return ast.WalkContinue, nil
		}
		depth++
		switch n.(type) {
		case *ast.Text, *ast.String, *ast.CodeSpan, *ast.TextBlock:
			return ast.WalkContinue, nil
		}
		line := fmt.Sprintf("%d %s", depth, n.Kind())
		if h, ok := n.(*ast.Heading); ok {
			line += " " + string(h.Lines().Value(body))
		}
		lines = append(lines, line)
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// rawHTML is every piece of it in a body.
func rawHTML(t *testing.T, body []byte) (found []string) {
	t.Helper()
	err := ast.Walk(markdown().Parser().Parse(text.NewReader(body)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.HTMLBlock:
			if entering {
				found = append(found, strings.TrimSpace(string(n.Lines().Value(body))))
			}
		case *ast.RawHTML:
			if entering {
				found = append(found, string(n.Segments.Value(body)))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEveryDescriptionHasItsTablesAndItsFold(t *testing.T) {
	for _, d := range all(t) {
		t.Run(d.Name, func(t *testing.T) {
			text, err := rendered(d.Body)
			if err != nil {
				t.Fatal(err)
			}
			lines := outline(t, d.Body)
			if n := count(lines, east.KindTable.String()); n < 1 || n != strings.Count(text, "<table>") {
				t.Errorf("%d tables, %d in HTML", n, strings.Count(text, "<table>"))
			}
			if strings.Count(text, "<details>") != 1 || strings.Count(text, "</details>") != 1 {
				t.Error("not one fold")
			}
			inFold := text[strings.Index(text, "<details>"):strings.Index(text, "</details>")]
			if strings.Count(inFold, `<pre><code class="language-diff">`) != 1 {
				t.Errorf("the diff is not in the fold: %s", inFold)
			}
			if count(lines, ast.KindLink.String())+count(lines, ast.KindAutoLink.String())+count(lines, ast.KindImage.String()) > 0 {
				t.Error("it has a link or an image")
			}
			if strings.Contains(text, "<p>|") {
				t.Error("a table is not one")
			}
		})
	}
}

func count(lines []string, kind string) (n int) {
	for _, l := range lines {
		if _, k, _ := strings.Cut(l, " "); k == kind {
			n++
		}
	}
	return n
}

func TestNoRawHTMLButTheFold(t *testing.T) {
	for _, d := range all(t) {
		found := rawHTML(t, d.Body)
		if len(found) != 2 || !strings.HasPrefix(found[0], "<details><summary>The whole difference: ") || found[1] != "</details>" {
			t.Errorf("%s: raw HTML %q", d.Name, found)
		}
		if strings.Count(found[0], "<") != 3 {
			t.Errorf("%s: %s", d.Name, found[0])
		}
	}
}

// Two drafts that differ in foreign text alone have one structure.
func TestHostileTextHasTheStructureOfTameText(t *testing.T) {
	bodies := map[string][]byte{}
	for _, d := range all(t) {
		bodies[d.Name] = d.Body
	}
	hostile, tame := outline(t, bodies["hostile"]), outline(t, bodies["tame"])
	if len(tame) < 30 || !slices.Equal(hostile, tame) {
		t.Errorf("hostile:\n%s\ntame:\n%s", strings.Join(hostile, "\n"), strings.Join(tame, "\n"))
	}
}

func TestThePageIsWrittenAndNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bin", "pr.html")
	var out bytes.Buffer
	if err := run([]string{goldens, file}, &out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil || out.String() != file+"\n" {
		t.Fatalf("%v, printed %q", err, out.String())
	}
	for _, d := range all(t) {
		if !bytes.Contains(data, []byte(`<article id="`+d.Name+`">`)) {
			t.Errorf("%s is not on the page", d.Name)
		}
	}
	if err := run([]string{t.TempDir(), file}, &out); err == nil {
		t.Error("a directory without descriptions is fine")
	}
}
