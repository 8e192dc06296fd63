package events

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	generator "github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write the schemas anew from the types")

// schemaOf generates the schema of a message from its type.
func schemaOf(t *testing.T, message any, title string) []byte {
	t.Helper()
	r := generator.Reflector{Anonymous: true, ExpandedStruct: true, DoNotReference: true, AllowAdditionalProperties: true}
	schema := r.Reflect(message)
	schema.Title = title
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]byte{
		"schemas/offer.json":        schemaOf(t, Offer{}, "Outpost offer"),
		"schemas/state_change.json": schemaOf(t, StateChange{}, "Outpost session state change"),
	} {
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := Schemas.ReadFile(name)
		if err != nil {
			t.Fatalf("%v: run go generate ./events", err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what the types say; run go generate ./events (-want +got):\n%s", name, diff)
		}
	}
}

// compiled is a schema as the embedded files have it.
func compiled(t *testing.T, name string) *validator.Schema {
	t.Helper()
	text, err := Schemas.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile(name)
}

func TestSchemasAcceptTheSamplesAndRefuseWhatBreaksThem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		breaks []map[string]any // nil value = the field is left out
	}{
		{"offer", []map[string]any{
			{"version": 2}, {"version": nil}, {"outpost_id": ""}, {"session_id": nil}, {"offered_at": "yesterday"}, {"offered_at": 1},
		}},
		{"state_change", []map[string]any{
			{"version": "1"}, {"id": nil}, {"session_id": ""}, {"to": ""}, {"to": "asleep"}, {"outcome": "fine"}, {"attempt": -1}, {"attempt": "1"}, {"at": nil},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			schema := compiled(t, "schemas/"+tc.name+".json")
			text, err := Samples.ReadFile("samples/" + tc.name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			read := func() map[string]any {
				doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				return doc.(map[string]any)
			}
			if err := schema.Validate(read()); err != nil {
				t.Errorf("the sample: %v", err)
			}
			for _, change := range tc.breaks {
				doc := read()
				for field, value := range change {
					if doc[field] = value; value == nil {
						delete(doc, field)
					}
				}
				if schema.Validate(doc) == nil {
					t.Errorf("the schema accepts %v", change)
				}
			}
		})
	}
}

func TestWhatIsWrittenFitsItsSchema(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]any{
		"schemas/offer.json": NewOffer("outpost_env-1", "devin-1", sampleTime),
		"schemas/state_change.json": StateChange{Version: StateChangeVersion, ID: "devin-1/e/1", OutpostID: "outpost_env-1", SessionID: "devin-1", To: "reserved",
			At: sampleTime},
	} {
		text, err := json.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled(t, name).Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
