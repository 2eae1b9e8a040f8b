package failover

import (
	"fmt"
	"math"
	"strings"
)

// The chart's measures, in pixels.
const (
	chartLeft  = 430
	chartWidth = 560
	chartRow   = 18
	chartTop   = 46
)

// The ends of the axis, in milliseconds. It is logarithmic.
const (
	axisFrom = 10.0
	axisTo   = 100_000.0
)

// Chart draws when the last application was back: each round a dot, the p50 a tick, the p99 in words. A round
// with an application that never came back is a cross at the right. Trials are left out.
func Chart(all []Summary) string {
	cells, _ := apart(all)
	var b strings.Builder
	height := chartTop + chartRow*len(cells) + 30
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", chartLeft+chartWidth+60, height)
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	fmt.Fprintf(&b, `<text x="10" y="18" font-size="14">From the new writer's first answer until the last application has written on it</text>`+"\n")
	for ms := axisFrom; ms <= axisTo; ms *= 10 {
		fmt.Fprintf(&b, `<line x1="%[1]d" y1="%[2]d" x2="%[1]d" y2="%[3]d" stroke="#ddd"/>`+"\n", along(ms), chartTop-8, height-26)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" fill="#666">%s</text>`+"\n", along(ms), height-10, short(ms))
	}
	for i, s := range cells {
		bar(&b, chartTop+chartRow*i, s)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// along is where on the axis a time is.
func along(ms float64) int {
	share := math.Log(max(ms, axisFrom)/axisFrom) / math.Log(axisTo/axisFrom)
	return chartLeft + int(min(share, 1)*chartWidth)
}

var colours = map[Way]string{Console: "#0a7d4f", DeletePods: "#2a6fb0", ServiceOnly: "#b05a2a", Peer: "#8a3fa0"}

func bar(b *strings.Builder, y int, s Summary) {
	c, f := s.Cell, s.all()
	colour := colours[c.Way]
	label := fmt.Sprintf("%s, %s, %d %s, %s, %s, %d instances", c.Way, c.Version, c.Clients, c.Driver, c.Use(), c.Provoked, c.Instances)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end" fill="%s">%s (n=%d)</text>`+"\n", chartLeft-10, y+4, colour, label, len(f))
	for _, ms := range f {
		if math.IsInf(ms, 1) {
			fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s" opacity="0.4">×</text>`+"\n", along(axisTo)+10, y+4, colour)
			continue
		}
		fmt.Fprintf(b, `<circle cx="%d" cy="%d" r="2.5" fill="%s" opacity="0.35"/>`+"\n", along(ms), y, colour)
	}
	if p50 := f.Quantile(0.5); !math.IsInf(p50, 1) {
		fmt.Fprintf(b, `<line x1="%[1]d" y1="%[2]d" x2="%[1]d" y2="%[3]d" stroke="%[4]s" stroke-width="3"/>`+"\n", along(p50), y-6, y+6, colour)
	}
	if p99 := f.Quantile(0.99); !math.IsInf(p99, 1) {
		fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", along(p99)+8, y+4, colour, short(p99))
	}
}
