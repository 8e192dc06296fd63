package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

// newSchema is the JSON schema of cdk.json's context: the types of package settings, with the comments of their fields as descriptions, and their defaults.
func newSchema(source string) (*jsonschema.Schema, error) {
	comments, err := readComments(source)
	if err != nil {
		return nil, err
	}
	reflector := jsonschema.Reflector{
		Anonymous: true, DoNotReference: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		LookupComment: func(t reflect.Type, field string) string { return comments[t.Name()+"."+field] },
	}
	schema := reflector.Reflect(&settings.Settings{})
	schema.Title = "Configuration of devin-outposts-aws: the context in cdk.json"
	// The CDK keeps keys of its own beside ours.
	schema.PatternProperties = map[string]*jsonschema.Schema{"[:/]": {Description: "The CDK's own."}}
	schema.AdditionalProperties = jsonschema.FalseSchema
	if err := addDefaults(schema, settings.Defaults()); err != nil {
		return nil, err
	}
	outposts, _ := schema.Properties.Get("outposts")
	outposts.Default = nil
	return schema, addDefaults(outposts.Items, settings.OutpostDefaults())
}

// readComments finds the doc comments of struct fields, by `Type.Field`.
func readComments(folder string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("find Go files in %s: %d (%w)", folder, len(files), err)
	}
	comments := map[string]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if fields, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range fields.Fields.List {
					for _, name := range field.Names {
						comments[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return comments, nil
}

// addDefaults puts the values of a struct into the schema that was made of its type.
func addDefaults(schema *jsonschema.Schema, defaults any) error {
	value := reflect.ValueOf(defaults)
	for i := range value.NumField() {
		key := value.Type().Field(i).Tag.Get("json")
		property, ok := schema.Properties.Get(key)
		if !ok {
			return fmt.Errorf("the schema has no property %q", key)
		}
		if property.Description == "" {
			return fmt.Errorf("the field of %q has no comment", key)
		}
		field := value.Field(i)
		if field.Kind() == reflect.Struct {
			if err := addDefaults(property, field.Interface()); err != nil {
				return err
			}
			continue
		}
		if !required(schema, key) {
			property.Default = field.Interface()
			if field.Kind() == reflect.Slice && field.IsNil() {
				property.Default = []string{}
			}
			if field.Kind() == reflect.Map && field.IsNil() {
				property.Default = map[string]string{}
			}
		}
	}
	return nil
}

func required(schema *jsonschema.Schema, key string) bool {
	for _, name := range schema.Required {
		if name == key {
			return true
		}
	}
	return false
}

func indented(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return out.Bytes(), err
}
