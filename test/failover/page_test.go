package failover

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "draw the pages anew from their raw data")

// TestThePageIsOfItsRawData: the page and the chart are what the raw data makes of them, the fixture's and the published ones. Where no
// raw data is there is no page.
func TestThePageIsOfItsRawData(t *testing.T) {
	for _, dir := range []string{"testdata", "../../docs/performance"} {
		all, err := Summaries(filepath.Join(dir, "failover"))
		if err != nil {
			t.Fatal(err)
		}
		about, _ := os.ReadFile(filepath.Join(dir, "failover", "machine.txt"))
		want := map[string]string{"failover.md": "", "failover.svg": ""}
		if len(all) > 0 {
			want = map[string]string{"failover.md": Page(all, strings.TrimSpace(string(about))), "failover.svg": Chart(all)}
		}
		for name, text := range want {
			path := filepath.Join(dir, name)
			if *update && text != "" {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			have, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(have), text); diff != "" {
				t.Errorf("%s is not of its raw data: make bench-failover-page (-have +want):\n%s", path, diff)
			}
		}
	}
}

func TestWhatNeverCameIsTheWorst(t *testing.T) {
	f := Of([]Moment{ms(3), nil, ms(1), ms(2)}, func(m Moment) Moment { return m })
	if got := f.Quantile(0.5); got != 2 {
		t.Errorf("p50 is %v, want 2", got)
	}
	if got := f.Short(); got != "2 ms / never" {
		t.Errorf("it reads %q", got)
	}
	if !math.IsNaN(Figure{}.Quantile(0.5)) || (Figure{}).Short() != "" {
		t.Error("nothing has a p50")
	}
}

func TestFiguresAreReadAsPeopleDo(t *testing.T) {
	for value, want := range map[float64]string{-3.4: "-3 ms", 0: "0 ms", 999.4: "999 ms", 1234: "1.23 s", 30_107: "30 s", math.Inf(1): "never"} {
		if got := short(value); got != want {
			t.Errorf("%v is %q, want %q", value, got, want)
		}
	}
}

func TestChartIsWellFormed(t *testing.T) {
	all := []Summary{{Cell: base, Rounds: []Round{{All: ms(42)}, {}}}, {Cell: Trial("1.18"), Rounds: []Round{{All: ms(7)}}}}
	for d := xml.NewDecoder(strings.NewReader(Chart(all))); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestThePageSaysWhatItIsNot: nobody reads a figure without that.
func TestThePageSaysWhatItIsNot(t *testing.T) {
	page := Page(nil, "a machine")
	if before, _, ok := strings.Cut(page, "##"); !ok || !strings.Contains(before, "is not Aurora") || !strings.Contains(before, "a machine") {
		t.Errorf("the page lacks what it has to say first:\n%s", page)
	}
}
