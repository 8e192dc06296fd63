// Command cost says what a configuration costs by list price: a month in which nothing happens, and an hour of one session. It reads the synthesised template,
// for what there is, and prices.json, for what that costs on its date.
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
)

//go:embed prices.json
var priceList []byte

type options struct {
	Template string `arg:"" type:"existingfile" help:"The synthesised template, such as cdk.out/devin-outposts.template.json (make synth)."`
	Prices   string `type:"existingfile" help:"Another table of prices, in the form of scripts/cost/prices.json."`
	JSON     bool   `name:"json" help:"Print JSON instead of Markdown."`
}

func main() {
	var o options
	kong.Parse(&o, kong.Name("cost"), kong.Description("Says what a configuration costs by list price, idle and for each hour of a session."))
	if err := run(o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(o options, out io.Writer) error {
	list := priceList
	if o.Prices != "" {
		var err error
		if list, err = os.ReadFile(o.Prices); err != nil {
			return err
		}
	}
	var p prices
	if err := json.Unmarshal(list, &p); err != nil {
		return fmt.Errorf("read the prices: %w", err)
	}
	text, err := os.ReadFile(o.Template)
	if err != nil {
		return err
	}
	made, err := read(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", o.Template, err)
	}
	e := made.estimate(p)
	if o.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(e)
	}
	_, err = io.WriteString(out, e.markdown(p))
	return err
}
