package test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cases are the public cases that poolwright is built against.
var cases = strings.Fields(`
	A01 A04 A05 A06 A07 A08 A09 A10 A11 A12 A13 A14 A15 A18 A19 A20 A21 A22 A23 A24 A25 A26 A27 A28 A29
	B01 B03 B05 B06 B07 B08 B09 B10 B11 B13 B14 B15 B18 B19 B20 B21 B23 B25
	C01 C02 C03 C04 C05 C08 C09 C10 C11 C12 C13 C14 C15 C16 C17 C18 C19 C20 C22 C23 C24 C25
	D02 D04 D05 D06 D07 D08 D09 D11 D12 D14 D16 D17 D18 D20 D21 D22 D23
	E01 E02 E03 E04 E05 E06 F01 F02 F03 F04 F05 F06 S01 S02`)

// owners are who may own what is not covered.
var owners = []string{
	"2 · Ahead of Git", "3 · Off the demoted node", "4 · Git by review", "5 · Caught before the merge", "6 · Run it", "none",
}

// TestEveryCaseIsATestOrHasALine reads the sources: each case is in the name of a test or has a line in CASES.md.
func TestEveryCaseIsATestOrHasALine(t *testing.T) {
	lines, err := os.ReadFile("CASES.md")
	check(t, err)
	for _, p := range gaps(cases, named(t, ".."), string(lines)) {
		t.Error(p)
	}
}

// TestGapsInTheCasesAreFound: the check itself.
func TestGapsInTheCasesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		tests []string
		lines string
		want  []string
	}{
		"a test for each":             {[]string{"A01", "B02"}, "", nil},
		"a test and a line":           {[]string{"A01"}, "| B02 | no | 6 · Run it | Later. |", nil},
		"part of it":                  {[]string{"A01", "B02"}, "| B02 | part | none | Half. |", nil},
		"neither":                     {[]string{"A01"}, "", []string{"B02: no test, no line"}},
		"a line that is stale":        {[]string{"A01", "B02"}, "| B02 | no | none | Never. |", []string{"B02: has a test; its line is stale, or part"}},
		"part of nothing":             {[]string{"A01"}, "| B02 | part | none | Half. |", []string{"B02: part of it is said to be covered, and no test has it"}},
		"a test of no case":           {[]string{"A01", "B02", "X99"}, "", []string{"X99: is no case"}},
		"a line of no case":           {[]string{"A01", "B02"}, "| X99 | no | none | What? |", []string{"X99: is no case"}},
		"two lines":                   {[]string{"A01"}, "| B02 | no | none | One. |\n| B02 | no | none | Two. |", []string{"B02: has two lines"}},
		"lines in no order":           {nil, "| B02 | no | none | Two. |\n| A01 | no | none | One. |", []string{"A01: is out of order"}},
		"an owner whom nobody knows":  {[]string{"A01"}, "| B02 | no | me | Soon. |", []string{`B02: owner "me" is none of the issues`}},
		"no reason":                   {[]string{"A01"}, "| B02 | no | none |  |", []string{"B02: gives no reason"}},
		"neither no nor part":         {[]string{"A01"}, "| B02 | maybe | none | Who knows. |", []string{`B02: "maybe" is neither no nor part`}},
		"a line with a column less":   {[]string{"A01"}, "| B02 | no | Later. |", []string{"B02: has 3 columns, not 4", "B02: no test, no line"}},
		"text that is no line of it":  {[]string{"A01", "B02"}, "| ID | covered |\n|---|---|\nA01 is said here.", nil},
		"a line with a bar in a code": {[]string{"A01"}, "| B02 | no | none | a | b |", []string{"B02: has 5 columns, not 4", "B02: no test, no line"}},
	} {
		t.Run(name, func(t *testing.T) {
			tests := map[string]bool{}
			for _, id := range c.tests {
				tests[id] = true
			}
			if diff := cmp.Diff(c.want, gaps([]string{"A01", "B02"}, tests, c.lines)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// gaps are what is wrong between the cases, the names of tests and the lines of CASES.md.
func gaps(ids []string, tests map[string]bool, text string) (problems []string) {
	found := func(id, format string, args ...any) {
		problems = append(problems, id+": "+fmt.Sprintf(format, args...))
	}
	seen, last := map[string]bool{}, ""
	for _, m := range regexp.MustCompile(`(?m)^\| ([A-Z]\d\d) \|(.*)\|$`).FindAllStringSubmatch(text, -1) {
		id, columns := m[1], strings.Split(m[2], "|")
		if len(columns) != 3 {
			found(id, "has %d columns, not 4", len(columns)+1)
			continue
		}
		switch {
		case seen[id]:
			found(id, "has two lines")
		case id < last:
			found(id, "is out of order")
		case !slices.Contains(ids, id):
			found(id, "is no case")
		default:
			for _, p := range faults(columns, tests[id]) {
				found(id, "%s", p)
			}
		}
		seen[id], last = true, id
	}
	for _, id := range ids {
		if !tests[id] && !seen[id] {
			found(id, "no test, no line")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tests)) {
		if !slices.Contains(ids, id) {
			found(id, "is no case")
		}
	}
	return problems
}

// faults are what is wrong with a line: covered, owner, reason.
func faults(columns []string, tested bool) (problems []string) {
	covered, owner, reason := strings.TrimSpace(columns[0]), strings.TrimSpace(columns[1]), strings.TrimSpace(columns[2])
	switch {
	case covered != "no" && covered != "part":
		problems = append(problems, strconv.Quote(covered)+" is neither no nor part")
	case covered == "no" && tested:
		problems = append(problems, "has a test; its line is stale, or part")
	case covered == "part" && !tested:
		problems = append(problems, "part of it is said to be covered, and no test has it")
	}
	if !slices.Contains(owners, owner) {
		problems = append(problems, "owner "+strconv.Quote(owner)+" is none of the issues")
	}
	if reason == "" {
		problems = append(problems, "gives no reason")
	}
	return problems
}

// named are the IDs in names which `go test -v` prints: of test functions, of subtests in tables, of scripts.
func named(t *testing.T, root string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	note := func(pattern *regexp.Regexp, text string) {
		if m := pattern.FindStringSubmatch(text); m != nil {
			for _, id := range regexp.MustCompile(`[A-Z]\d\d`).FindAllString(m[1], -1) {
				found[id] = true
			}
		}
	}
	// A number without a letter is that of a failure mode (modes_test.go).
	function, subtest := regexp.MustCompile(`^Test(?:Core|Flux|Argo|Incident)?((?:[A-Z]?\d\d)+)[A-Z]`), regexp.MustCompile(`^((?:[A-Z]?\d\d )+)\S`)
	script := regexp.MustCompile(`^([A-Z]\d\d)-.*\.txtar$`)
	check(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
			return err
		case filepath.Base(filepath.Dir(path)) == "script":
			note(script, entry.Name())
		case filepath.Ext(path) == ".go":
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil || !tests(path, file) {
				return err
			}
			for _, name := range functions(file) {
				note(function, name)
			}
			for _, name := range tabled(file) {
				note(subtest, name)
			}
		}
		return nil
	}))
	return found
}

// tests reports whether a file is one of tests: by its name, or a suite that others run.
func tests(path string, file *ast.File) bool {
	return strings.HasSuffix(path, "_test.go") ||
		slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
}

// functions are the names of a file's functions.
func functions(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// testFunctions are the tests of a file.
func testFunctions(file *ast.File) (found []*ast.FuncDecl) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			found = append(found, f)
		}
	}
	return found
}

// tabled are the strings that may name subtests: those in tables, keys too.
func tabled(file ast.Node) (names []string) {
	text := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				names = append(names, s)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		for _, e := range table.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				text(kv.Key)
				e = kv.Value
			}
			text(e)
		}
		return true
	})
	return names
}
