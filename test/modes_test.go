package test

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// failureModes is how many there are of the hand-over between poolwright and a GitOps tool.
const failureModes = 35

// TestEveryFailureModeIsATestOrHasAReason reads the sources: CASES.md has a line for each failure mode, which names tests that exist
// and bear its number, or says why there is none.
func TestEveryFailureModeIsATestOrHasAReason(t *testing.T) {
	lines, err := os.ReadFile("CASES.md")
	check(t, err)
	for _, p := range modeGaps(failureModes, numbered(t, "../live", "../cmd", "e2e"), string(lines)) {
		t.Error(p)
	}
}

// TestGapsInTheFailureModesAreFound: the check itself.
func TestGapsInTheFailureModesAreFound(t *testing.T) {
	tests := map[string][]string{"Test01InFlight": {"01"}, "TestTable": {"01", "02"}}
	const one, two = "| 01 | in flight | Test01InFlight, TestTable | |\n", "| 02 | down | TestTable | |"
	for name, c := range map[string]struct {
		lines string
		want  []string
	}{
		"each has a test":               {one + two, nil},
		"no line":                       {one, []string{"02: no line"}},
		"two lines":                     {one + one + two, []string{"01: has two lines"}},
		"in no order":                   {two + "\n" + one, []string{"01: is out of order"}},
		"a test that does not exist":    {one + "| 02 | down | TestGone | |", []string{"02: there is no TestGone that bears its number"}},
		"a test of another number":      {one + "| 02 | down | Test01InFlight | |", []string{"02: there is no Test01InFlight that bears its number"}},
		"neither a test nor a reason":   {one + "| 02 | down | none | |", []string{"02: names no test and gives no reason", "02: has TestTable; its line is stale"}},
		"none, though there is one":     {one + "| 02 | down | none | Later. |", []string{"02: has TestTable; its line is stale"}},
		"a number that is none":         {one + two + "\n| 03 | x | none | Why. |", []string{"03: is no failure mode"}},
		"a line with a column too much": {one + "| 02 | down | TestTable | | |", []string{"02: has 5 columns, not 4", "02: no line"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, modeGaps(2, tests, c.lines)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// modeGaps are what is wrong between the tests, each with the numbers it bears, and the lines of CASES.md: number, failure, tests, reason.
func modeGaps(n int, tests map[string][]string, text string) (problems []string) {
	seen, last := map[string]bool{}, ""
	for _, m := range regexp.MustCompile(`(?m)^\| (\d\d) \|(.*)\|$`).FindAllStringSubmatch(text, -1) {
		number, columns := m[1], strings.Split(m[2], "|")
		found := func(format string, args ...any) {
			problems = append(problems, number+": "+fmt.Sprintf(format, args...))
		}
		switch {
		case len(columns) != 3:
			found("has %d columns, not 4", len(columns)+1)
			continue
		case seen[number]:
			found("has two lines")
		case number < last:
			found("is out of order")
		case number > fmt.Sprintf("%02d", n) || number == "00":
			found("is no failure mode")
		default:
			for _, p := range modeFaults(number, strings.TrimSpace(columns[1]), strings.TrimSpace(columns[2]), tests) {
				found("%s", p)
			}
		}
		seen[number], last = true, max(last, number)
	}
	for i := range n {
		if number := fmt.Sprintf("%02d", i+1); !seen[number] {
			problems = append(problems, number+": no line")
		}
	}
	return problems
}

func modeFaults(number, named, reason string, tests map[string][]string) (problems []string) {
	if named != "none" {
		for name := range strings.SplitSeq(named, ", ") {
			if !slices.Contains(tests[name], number) {
				problems = append(problems, "there is no "+name+" that bears its number")
			}
		}
		return problems
	}
	if reason == "" {
		problems = append(problems, "names no test and gives no reason")
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if slices.Contains(tests[name], number) {
			problems = append(problems, "has "+name+"; its line is stale")
		}
	}
	return problems
}

// numbered are the tests below some directories with the numbers of failure modes in their names and in those of their subtests.
func numbered(t *testing.T, dirs ...string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	function, subtest := regexp.MustCompile(`^Test(?:Core|Flux|Argo)?((?:[A-Z]?\d\d)+)[A-Z]`), regexp.MustCompile(`^((?:[A-Z]?\d\d )+)\S`)
	note := func(test string, pattern *regexp.Regexp, text string) {
		if m := pattern.FindStringSubmatch(text); m != nil {
			for _, id := range regexp.MustCompile(`[A-Z]?\d\d`).FindAllString(m[1], -1) {
				if len(id) == 2 {
					found[test] = append(found[test], id)
				}
			}
		}
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		check(t, err)
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			check(t, err)
			for _, f := range testFunctions(file) {
				note(f.Name.Name, function, f.Name.Name)
				for _, name := range tabled(f) {
					note(f.Name.Name, subtest, name)
				}
			}
		}
	}
	return found
}
