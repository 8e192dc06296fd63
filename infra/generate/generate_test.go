package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

const root = "../.."

func TestGeneratedDocumentsAreCurrent(t *testing.T) {
	t.Parallel()
	files, err := documents(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s is not what is generated; run `go run ./infra/generate` (-want +got):\n%s", name, cmp.Diff(string(want), string(got)))
		}
	}
}

func schema(t *testing.T) *validator.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/configuration.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	return compiler.MustCompile("schema.json")
}

func TestExampleIsLegalAndSaysTheDefaults(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs/configuration.example.jsonc"))
	if err != nil {
		t.Fatal(err)
	}
	plain := regexp.MustCompile(`(?m)^\s*//.*$`).ReplaceAll(text, nil)
	var context map[string]any
	if err := json.Unmarshal(plain, &context); err != nil {
		t.Fatal(err)
	}
	if err := schema(t).Validate(context); err != nil {
		t.Errorf("by the schema: %v", err)
	}
	got, err := settings.Load(context)
	if err != nil {
		t.Fatal(err)
	}
	want, err := settings.Load(map[string]any{"outposts": []any{map[string]any{"id": "outpost_env-example", "tokenSecret": "devin-outposts/token"}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
		t.Errorf("settings of the example (-want +got):\n%s", diff)
	}
}

// asJSON makes empty and absent lists the same.
func asJSON(t *testing.T, s settings.Settings) string {
	t.Helper()
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(regexp.MustCompile(`: (\[\]|\{\}|null)`).ReplaceAll(text, []byte(": null")))
}

func TestSchemaRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no outposts": `{}`, "no id": `{"outposts": [{"tokenSecret": "t"}]}`, "a word that is none": `{"outposts": [{"id": "o", "tokenSecret": "t", "dispatch": "push"}]}`,
		"a key that is none": `{"outposts": [{"id": "o", "tokenSecret": "t"}], "dashbord": true}`, "a number too large": `{"outposts": [{"id": "o", "tokenSecret": "t", "maxFailures": 11}]}`,
	} {
		var context any
		if err := json.Unmarshal([]byte(text), &context); err != nil {
			t.Fatal(err)
		}
		if err := schema(t).Validate(context); err == nil {
			t.Errorf("%s: the schema takes %s", name, text)
		}
	}
	var good any
	if err := json.Unmarshal([]byte(`{"outposts": [{"id": "o", "tokenSecret": "t"}], "@aws-cdk/core:flag": true}`), &good); err != nil {
		t.Fatal(err)
	}
	if err := schema(t).Validate(good); err != nil {
		t.Errorf("the schema refuses what is right: %v", err)
	}
}
