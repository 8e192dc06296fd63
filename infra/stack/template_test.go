package stack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// template is a CloudFormation template as JSON.
type template map[string]any

func (t template) resources() map[string]any { return t["Resources"].(map[string]any) }

// resource answers the properties of one resource.
func (t template) resource(tb testing.TB, id string) map[string]any {
	tb.Helper()
	resource, ok := t.resources()[id].(map[string]any)
	if !ok {
		tb.Fatalf("the template has no resource %s", id)
	}
	properties, _ := resource["Properties"].(map[string]any)
	return properties
}

// ofType answers the ids of all resources of a type, in order.
func (t template) ofType(kind string) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(t.resources())) {
		if t.resources()[id].(map[string]any)["Type"] == kind {
			ids = append(ids, id)
		}
	}
	return ids
}

// plain writes a value with CloudFormation's functions as short references, `${Name}` and `${Name.Attribute}`, and everything else as it is.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if ref, ok := v["Ref"].(string); ok && len(v) == 1 {
			return "${" + ref + "}"
		}
		if att, ok := v["Fn::GetAtt"].([]any); ok {
			return fmt.Sprintf("${%v.%v}", att[0], att[1])
		}
		if join, ok := v["Fn::Join"].([]any); ok {
			var parts []string
			for _, part := range join[1].([]any) {
				parts = append(parts, fmt.Sprint(plain(part)))
			}
			return strings.Join(parts, join[0].(string))
		}
		if sub, ok := v["Fn::Sub"].(string); ok {
			return sub
		}
		out := map[string]any{}
		for key, inner := range v {
			out[key] = plain(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = plain(inner)
		}
		return out
	default:
		return v
	}
}

// equal compares a part of the template with what it should be, written as JSON.
func equal(t *testing.T, what string, got any, want string) {
	t.Helper()
	var wanted any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, plain(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// golden compares text with a file in testdata, or writes it there with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs; if the change is meant, run `go test ./infra/stack -update` and review the diff (-want +got):\n%s",
			path, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
	}
}

func TestTemplatesAreTheReviewedOnes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"default", "fullest"} {
		text, err := json.MarshalIndent(templates[name], "", " ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".template.json", append(text, '\n'))
	}
}
