package settings

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Problems are all mistakes of a configuration, one line each.
type Problems []string

// Error says each problem on a line of its own.
func (p Problems) Error() string {
	return fmt.Sprintf("the context (in cdk.json, cdk.context.json, ~/.cdk.json or -c) has %d mistake(s):\n  - %s", len(p), strings.Join(p, "\n  - "))
}

func (p *Problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// cdkKeys are the CDK's own keys without a colon or a slash: `cdk cli-telemetry --disable` and `cdk acknowledge` write them into cdk.context.json, and people into
// ~/.cdk.json.
var cdkKeys = []string{"cli-telemetry", "acknowledged-issue-numbers"}

// Load reads settings from a CDK context, that is, from its keys and JSON values. A value that is a string where something else is due is read as JSON, since
// `cdk -c key=value` gives nothing but strings. Keys that belong to the CDK itself are passed over; any other unknown key is a mistake.
// The error, if any, is of type [Problems].
func Load(context map[string]any) (Settings, error) {
	s := Defaults()
	var problems Problems
	given := map[string]json.RawMessage{}
	for key, value := range context {
		if strings.ContainsAny(key, ":/") || slices.Contains(cdkKeys, key) {
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			problems.add("%s: cannot be written as JSON: %v", key, err)
			continue
		}
		given[key] = raw
	}
	decodeFields("", given, reflect.ValueOf(&s).Elem(), &problems)
	s.check(&problems)
	if len(problems) > 0 {
		slices.Sort(problems)
		return Settings{}, slices.Compact(problems)
	}
	return s, nil
}

// decodeFields fills a struct whose defaults are set already, field by field, so that one bad value does not hide the next.
func decodeFields(path string, given map[string]json.RawMessage, into reflect.Value, problems *Problems) {
	known := map[string]bool{}
	for i := range into.NumField() {
		key := into.Type().Field(i).Tag.Get("json")
		known[key] = true
		if raw, ok := given[key]; ok && string(raw) != "null" {
			decodeValue(join(path, key), raw, into.Field(i), problems)
		}
	}
	for key, raw := range given {
		if !known[key] {
			problems.add("%s: there is no such key (its value is %s)%s", join(path, key), raw, suggestion(key, known))
		}
	}
}

func decodeValue(path string, raw json.RawMessage, into reflect.Value, problems *Problems) {
	var text string
	if into.Kind() != reflect.String && json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	switch {
	case into.Kind() == reflect.Struct:
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			problems.add("%s: %s is not an object with named keys", path, raw)
			return
		}
		decodeFields(path, fields, into, problems)
	case into.Kind() == reflect.Slice && into.Type().Elem() == reflect.TypeFor[Outpost]():
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			problems.add("%s: %s is not a list of outposts", path, raw)
			return
		}
		for i, element := range elements {
			outpost := OutpostDefaults()
			decodeValue(fmt.Sprintf("%s[%d]", path, i), element, reflect.ValueOf(&outpost).Elem(), problems)
			into.Set(reflect.Append(into, reflect.ValueOf(outpost)))
		}
	default:
		value := reflect.New(into.Type())
		if json.Unmarshal(raw, value.Interface()) != nil {
			problems.add("%s: %s is not %s", path, raw, kindName(into.Type()))
			return
		}
		into.Set(value.Elem())
	}
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list of strings"
	case reflect.Map:
		return "an object of strings"
	default:
		return "a string"
	}
}

// suggestion names the known key that differs only by case or by an s, which are the usual slips.
func suggestion(key string, known map[string]bool) string {
	plain := func(s string) string {
		return strings.TrimSuffix(strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)), "s")
	}
	for candidate := range known {
		if plain(candidate) == plain(key) {
			return fmt.Sprintf("; did you mean %q?", candidate)
		}
	}
	return ""
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
