package simulate

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// line is one line of a plot.
type line struct {
	name, colour string
	values       []float64 // one a minute
}

// Plot draws the scenario as an SVG: what waits and what runs, and below the calls made to each service.
func (f Figures) Plot() string {
	pick := func(of func(Minute) float64) []float64 {
		values := make([]float64, len(f.Minutes))
		for i, m := range f.Minutes {
			values[i] = of(m)
		}
		return values
	}
	calls := func(s service) []float64 { return pick(func(m Minute) float64 { return float64(m.Calls[string(s)]) }) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 620" font-family="sans-serif" font-size="12"><rect width="900" height="620" fill="white"/>`)
	fmt.Fprintf(&b, `<text x="60" y="24" font-size="16">%s: %d sessions</text>`, html.EscapeString(f.Scenario), f.Sessions)
	panel(&b, 50, "sessions", []line{
		{"slots used", "#1f77b4", pick(func(m Minute) float64 { return float64(m.Slots) })},
		{"being served", "#2ca02c", pick(func(m Minute) float64 { return float64(m.Tasks) })},
		{"waiting", "#d62728", pick(func(m Minute) float64 { return float64(m.Waiting) })}})
	panel(&b, 240, "oldest waiting, minutes", []line{{"oldest waiting", "#d62728", pick(func(m Minute) float64 { return m.Oldest / 60 })}})
	panel(&b, 430, "calls a minute", []line{{"DynamoDB", "#1f77b4", calls(table)}, {"fleet API", "#ff7f0e", calls(fleetAPI)}, {"ECS", "#2ca02c", calls(ecsAPI)},
		{"KMS", "#9467bd", calls(keyAPI)}, {"SQS", "#8c564b", calls(queueAPI)}})
	b.WriteString("</svg>\n")
	return b.String()
}

// panel draws lines over time into a part of the picture.
func panel(b *strings.Builder, top float64, title string, lines []line) {
	const left, width, height = 60.0, 700.0, 140.0
	most, minutes := 1.0, 1
	for _, l := range lines {
		minutes = max(minutes, len(l.values)-1)
		for _, v := range l.values {
			most = math.Max(most, v)
		}
	}
	fmt.Fprintf(b, `<text x="%g" y="%g">%s, at most %.4g</text><rect x="%g" y="%g" width="%g" height="%g" fill="none" stroke="#999"/>`, left, top-6, title, most, left, top, width, height)
	for hour := 0; hour*60 <= minutes; hour += max(1, minutes/60/8) {
		x := left + width*float64(hour*60)/float64(minutes)
		fmt.Fprintf(b, `<path d="M%.1f %g v%g" stroke="#ddd"/><text x="%.1f" y="%g" text-anchor="middle">%d h</text>`, x, top, height, x, top+height+14, hour)
	}
	for i, l := range lines {
		fmt.Fprintf(b, `<text x="%g" y="%g" fill="%s">%s</text><path fill="none" stroke="%s" d="`, left+width+12, top+16+18*float64(i), l.colour, l.name, l.colour)
		step := max(1, len(l.values)/700)
		for j := 0; j < len(l.values); j += step {
			v := l.values[j]
			for _, o := range l.values[j:min(j+step, len(l.values))] {
				v = math.Max(v, o)
			}
			mark := "L"
			if j == 0 {
				mark = "M"
			}
			fmt.Fprintf(b, "%s%.1f %.1f", mark, left+width*float64(j)/float64(minutes), top+height*(1-v/most))
		}
		b.WriteString(`"/>`)
	}
}
