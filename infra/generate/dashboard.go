package main

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
)

// What a widget of the dashboard shows, as far as the picture needs it.
type widget struct {
	X, Y, Width, Height int
	Type                string
	Properties          struct {
		Title   string
		Metrics [][]any
	}
}

// Size of a unit of the dashboard's grid in the picture, and of its text.
const (
	unitX, unitY = 40, 26
	lineHeight   = 14
	mostLines    = 8
)

// picture draws the dashboard of the default configuration as it is laid out, with what each widget shows, from the reviewed template.
func picture(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, "infra", "stack", "testdata", "default.template.json"))
	if err != nil {
		return nil, err
	}
	var template struct {
		Resources struct {
			Dashboard struct {
				Properties struct {
					DashboardBody struct {
						Join []json.RawMessage `json:"Fn::Join"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &template); err != nil {
		return nil, err
	}
	var parts []any
	if err := json.Unmarshal(template.Resources.Dashboard.Properties.DashboardBody.Join[1], &parts); err != nil {
		return nil, err
	}
	var joined strings.Builder
	for _, part := range parts {
		if piece, plain := part.(string); plain {
			joined.WriteString(piece)
		}
	}
	var body struct{ Widgets []widget }
	if err := json.Unmarshal([]byte(joined.String()), &body); err != nil {
		return nil, err
	}
	return draw(body.Widgets), nil
}

func draw(widgets []widget) []byte {
	var out strings.Builder
	height := 0
	for _, w := range widgets {
		height = max(height, (w.Y+w.Height)*unitY)
	}
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", 24*unitX, height)
	out.WriteString(`<rect width="100%" height="100%" fill="#f2f3f3"/>` + "\n")
	for _, w := range widgets {
		x, y := w.X*unitX, w.Y*unitY
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="#fff" stroke="#c5c9cc"/>`+"\n", x+4, y+4, w.Width*unitX-8, w.Height*unitY-8)
		fmt.Fprintf(&out, `<text x="%d" y="%d" font-size="13" font-weight="bold" fill="#16191f">%s</text>`+"\n", x+14, y+24, html.EscapeString(shorten(w.Properties.Title, 44)))
		for i, line := range w.lines() {
			fmt.Fprintf(&out, `<text x="%d" y="%d" fill="#545b64">%s</text>`+"\n", x+14, y+46+i*lineHeight, html.EscapeString(line))
		}
	}
	out.WriteString("</svg>\n")
	return []byte(out.String())
}

// lines are what stands in a widget: the names of its lines, or that it is a table from the logs.
func (w widget) lines() []string {
	if w.Type == "log" {
		return []string{"a table from the functions' logs"}
	}
	var lines []string
	for _, m := range w.Properties.Metrics {
		style, ok := m[len(m)-1].(map[string]any)
		if ok {
			lines = append(lines, fmt.Sprintf("– %v", style["label"]))
		}
	}
	if len(lines) > mostLines {
		lines = append(lines[:mostLines-1], fmt.Sprintf("… and %d more", len(lines)-mostLines+1))
	}
	return lines
}

func shorten(text string, longest int) string {
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return text
}
