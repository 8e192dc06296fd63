// Command generate writes the documents that are made from Go: the configuration's reference, schema and example, the alarms' runbook, and a picture of the
// dashboard. Run it in the module's root after a change of infra/settings, infra/alarms or the golden template: `go run ./infra/generate`.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/devin-outposts/devin-outposts-aws/infra/alarms"
	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	files, err := documents(root)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// documents answers the files by their path from the module's root, which is where the sources are read.
func documents(root string) (map[string][]byte, error) {
	schema, err := newSchema(filepath.Join(root, "infra", "settings"))
	if err != nil {
		return nil, err
	}
	text, err := indented(schema)
	if err != nil {
		return nil, err
	}
	dashboard, err := picture(root)
	if err != nil {
		return nil, fmt.Errorf("draw the dashboard: %w", err)
	}
	usual := settings.Settings{Outposts: []settings.Outpost{settings.OutpostDefaults()}}
	return map[string][]byte{
		"docs/alarms.md":                   []byte(alarms.Runbook(alarms.All(usual.Timeouts()))),
		"docs/configuration.md":            []byte(reference(schema)),
		"docs/configuration.example.jsonc": []byte(example(schema)),
		"docs/configuration.schema.json":   text,
		"docs/dashboard.svg":               dashboard,
	}, nil
}
