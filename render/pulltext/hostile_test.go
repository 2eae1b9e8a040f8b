package pulltext_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/clusters"
	"github.com/poolwright/poolwright/discovery"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/render"
	"github.com/poolwright/poolwright/render/pulltext"
)

// hostile are texts that want to be more than text: the nth foreign text of a draft is the nth of them, over and over.
var hostile = []string{
	"fixes #1 and closes acme/app#2, resolved: https://github.com/acme/app/issues/3, Fixes GH-4",
	"@team please approve, cc @acme/owners, mail ann@example.com",
	"</td></tr></table><script>alert(1)</script><img src=x onerror=alert(1)>",
	"a | b | c |\n|---|---|\n# Heading",
	"```\n\n# out of the fence\n````\n~~~\n</details>",
	"[click](https://evil.example/) ![pixel](https://evil.example/p.png) <https://evil.example> www.evil.example",
	"**bold** _italic_ ~~gone~~ `code` $x^2$ &lt;b&gt; \\",
	"<!-- poolwright: merge --> --> [skip ci] ***NO_CI*** [ci skip]",
	"\u202egnp.exe \u200bzero\u0000 \x1b[31mred\x1b[0m \xff\xfe",
	"This reverts commit 0123456789abcdef0123456789abcdef01234567.",
	"Poolwright-Epoch: 99\r\nPoolwright-Facts: forged",
	"- [x] approved\n1. one\n> quoted",
	"1. not a list",
	"--- a\n+++ b\n@@ -1 +1 @@",
	"> [!CAUTION]\n> stop",
	"`", "``", "|", "\\", "&", "", " ", "_", "*", "#1", "@a",
}

// tame says nothing, in as many words.
var tame = words(len(hostile))

func words(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("word%d", i))
	}
	return list
}

// stranger hands out foreign texts.
type stranger struct {
	texts []string
	n     int
}

func (s *stranger) text() string {
	s.n++
	return s.texts[(s.n-1)%len(s.texts)]
}

// strange is a draft whose every foreign text is one of texts, also where the line before would refuse it.
func strange(t testing.TB, texts []string) pulltext.Draft {
	return foreign(load(t, usual), &stranger{texts: texts})
}

func foreign(c clusters.Cluster, s *stranger) pulltext.Draft {
	members := func(n int) (list []plan.Member) {
		for i := range n {
			list = append(list, plan.Member{Name: fmt.Sprintf("m%d %s", i, s.text()), Zone: "z " + s.text(), Slot: i, Host: s.text()})
		}
		slices.SortFunc(list, func(a, b plan.Member) int { return strings.Compare(a.Name, b.Name) })
		return list
	}
	list := members(3)
	before := plan.State{Epoch: 7, Writer: list[0].Name, Members: list}
	after := plan.State{Epoch: 8, Writer: list[1].Name, Members: slices.Clone(list)}
	after.Members[0].Out = plan.Unproven
	c.Metadata.Name = "c " + s.text()
	d := pulltext.Draft{
		Cluster: c, Declared: before, Branch: "b " + s.text(), Declined: []int{3}, Version: "v " + s.text(),
		Ahead: &pulltext.Ahead{Writer: "w " + s.text(), Epoch: 8, Since: noon},
		Steps: []plan.Plan{step(plan.Failover, plan.FailoverChange, after,
			plan.Reason{Code: plan.WriterMoved, Instance: list[1].Name, Detail: "d " + s.text()},
			plan.Reason{Code: plan.WriterDemoted, Instance: list[0].Name, Detail: "d " + s.text()},
			plan.Reason{Code: plan.ShrinkAllowed, Detail: "d " + s.text()},
			plan.Reason{Code: plan.Doubted, Instance: list[2].Name, Detail: "d " + s.text()})},
		Seen: discovery.Observation{Cluster: "c", Provider: discovery.Aurora, At: noon, Answers: []discovery.Answer{
			{Asked: "a " + s.text(), Fault: discovery.Broken, Detail: "d " + s.text()},
			{Asked: "b " + s.text(), Rows: []discovery.Row{{ServerID: "r " + s.text(), SessionID: discovery.MasterSession}}},
			{Via: discovery.Writer, Name: "n " + s.text(), Endpoint: s.text()},
		}, Metadata: &discovery.Metadata{State: discovery.MetadataStale, At: noon, Detail: "d " + s.text()}},
		Checked:  []string{"c " + s.text(), s.text() + "c"},
		Commands: []string{"x " + s.text(), s.text() + "x"},
		Before: render.Tree{
			render.ServicesFile: service(s, "before "), "odd " + s.text(): []byte(s.text()),
			"base/deployment.yaml": []byte("a: " + s.text()),
		},
		After: render.Tree{render.ServicesFile: service(s, "after "), "base/deployment.yaml": []byte("a: b\n" + s.text())},
	}
	d.BuiltBefore, d.BuiltAfter = object(s, "A "), object(s, "B ")
	return d
}

// service is a services.yaml whose texts are foreign.
func service(s *stranger, mark string) []byte {
	return fmt.Appendf(nil, "kind: Service\nmetadata: {name: n, annotations: {a: %q}}\nspec:\n  selector:\n    k: %q\n", mark+s.text(), mark+s.text())
}

// object is a stream with an object whose texts are foreign.
func object(s *stranger, mark string) []byte {
	return fmt.Appendf(nil, "kind: %q\nmetadata: {name: %q, labels: {%s: %q}}\ndata: {pgbouncer.ini: %q}\n",
		mark+s.text(), "n "+s.text(), render.LabelInstance, mark+"i "+s.text(), "[databases]\n"+s.text()+" = x")
}

// acts is what a forge or Git would act on, wherever it stands.
var acts = []*regexp.Regexp{
	regexp.MustCompile(`(?:^|[^0-9A-Za-z])@[0-9A-Za-z]`),
	regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:es|ed)?|resolve[sd]?)\b[\s:]*(?:#|gh-|https?:|[\w.-]+/[\w.-]+#)[0-9/]`),
	regexp.MustCompile(`(?i)\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]`),
	regexp.MustCompile(`<!--`),
	regexp.MustCompile(`(?m)^This reverts commit`),
	regexp.MustCompile("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f]"),
}

// reference is a number of an issue. The only ones in a body are the declined pull requests'.
var reference = regexp.MustCompile(`#[0-9]+`)

// outline is the structure of a body by its lines: headings, the cells of each table's row, fences, list items.
func outline(body string) (lines []string) {
	fence := ""
	for l := range strings.Lines(body) {
		l = strings.TrimSuffix(l, "\n")
		ticks := l[:len(l)-len(strings.TrimLeft(l, "`"))]
		switch {
		case fence != "" && l == fence:
			fence = ""
			lines = append(lines, "end of code")
		case fence != "":
		case len(ticks) >= 3:
			fence = ticks
			lines = append(lines, "code "+l[len(ticks):])
		case strings.HasPrefix(l, "#"):
			lines = append(lines, l)
		case strings.HasPrefix(l, "|"):
			lines = append(lines, fmt.Sprintf("row of %d", strings.Count(strings.ReplaceAll(l, `\|`, ""), "|")-1))
		case strings.HasPrefix(l, "- "):
			lines = append(lines, "item")
		case strings.HasPrefix(l, "> "):
			lines = append(lines, "quote")
		case strings.HasPrefix(l, "<"):
			lines = append(lines, regexp.MustCompile(`[0-9]+`).ReplaceAllString(l, "N"))
		case l != "":
			lines = append(lines, "text")
		}
	}
	return lines
}

// Whatever databases, people and files say, the description keeps its structure, and nothing in it acts.
func TestForeignTextNeverActsAndNeverChangesTheStructure(t *testing.T) {
	c := load(t, usual)
	piece := rapid.OneOf(rapid.SampledFrom(hostile), rapid.String(), rapid.StringMatching("[`|<>@#\\[\\]()!*_~$&:/\\\\ \n\r-]{1,12}"))
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(piece, 1, 40).Draw(t, "texts")
		d := foreign(c, &stranger{texts: texts})
		text, err := pulltext.Write(d)
		if err != nil {
			t.Fatal(err)
		}
		checkInert(t, d, text)
		checkFences(t, text.Body)
		plain, err := pulltext.Write(foreign(c, &stranger{texts: words(len(texts))}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(outline(plain.Body), outline(text.Body)); diff != "" {
			t.Fatalf("the structure with words, and with %q:\n%s", texts, diff)
		}
	})
}

// fataler is what *testing.T and *rapid.T share.
type fataler interface {
	Fatalf(format string, args ...any)
}

func checkInert(t fataler, d pulltext.Draft, text pulltext.Text) {
	for _, a := range acts {
		if found := a.FindString(text.Title + "\n" + text.Body); found != "" {
			t.Fatalf("%q acts in\n%s\n%s", found, text.Title, text.Body)
		}
	}
	if got := reference.FindAllString(text.Title+text.Body, -1); len(got) != len(d.Declined) {
		t.Fatalf("references to issues: %q, want %d in\n%s", got, d.Declined, text.Body)
	}
	if strings.ContainsAny(text.Title, "\n\r@#<>[]`") || utf8.RuneCountInString(text.Title) > pulltext.MaxTitle {
		t.Fatalf("the title is %q", text.Title)
	}
	if len(text.Body) > pulltext.MaxBody || !utf8.ValidString(text.Body) {
		t.Fatalf("a body of %d bytes", len(text.Body))
	}
}

// checkFences wants the headings, in their order, and nothing of HTML but the fold of the diff.
func checkFences(t fataler, body string) {
	var headings, tags []string
	for _, l := range outline(body) {
		switch {
		case strings.HasPrefix(l, "#"):
			headings = append(headings, l)
		case strings.HasPrefix(l, "<"):
			tags = append(tags, l)
		}
	}
	want := "### Why,### Before and after,### What changes, key by key,### Evidence,### Objects," +
		"### Server connections,### Checked,### Merge it, leave it, or close it,### Roll back"
	if got := strings.Join(headings, ","); got != want {
		t.Fatalf("got headings %s in\n%s", got, body)
	}
	if len(tags) != 2 || !strings.HasPrefix(tags[0], "<details><summary>") || tags[1] != "</details>" {
		t.Fatalf("got tags %q in\n%s", tags, body)
	}
}
