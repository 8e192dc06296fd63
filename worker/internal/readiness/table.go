package readiness

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable prints the outcomes for a person.
func WriteTable(to io.Writer, outcomes []Check) error {
	table := tabwriter.NewWriter(to, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "CHECK\tSTATUS\tFOUND")
	for _, c := range outcomes {
		fmt.Fprintf(table, "%s\t%s\t%s\n", c.Name, c.Status, c.Detail)
		if c.Advice != "" {
			fmt.Fprintf(table, "\t\t→ %s\n", c.Advice)
		}
	}
	return table.Flush()
}

// WriteJSON prints the outcomes for a machine: one object with "fit" and "checks".
func WriteJSON(to io.Writer, outcomes []Check) error {
	fit, _ := Fit(outcomes)
	out := json.NewEncoder(to)
	out.SetIndent("", "  ")
	return out.Encode(struct {
		Fit    bool    `json:"fit"`
		Checks []Check `json:"checks"`
	}{fit, outcomes})
}
