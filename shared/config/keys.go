package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// checkKeys says which keys of an outpost, and of its capacity choices, are not exactly known ones or stand twice. encoding/json would overlook the case of letters, and
// let the last of several values win. What is no object is left to the decoder to refuse.
func checkKeys(where string, raw []byte) error {
	fields, err := objectKeys[written](where, raw)
	errs := []error{err}
	for _, field := range fields {
		var choices []json.RawMessage
		if field.key == "capacity" && json.Unmarshal(field.value, &choices) == nil {
			for i, choice := range choices {
				_, err := objectKeys[Capacity](fmt.Sprintf("%s.capacity[%d]", where, i), choice)
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// field is a key of an object and its value.
type field struct {
	key   string
	value json.RawMessage
}

// objectKeys reads the fields of an object as they stand, and checks their keys against the json tags of T.
func objectKeys[T any](where string, raw []byte) ([]field, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, nil
	}
	known := tags(reflect.TypeFor[T]())
	var fields []field
	var errs []error
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		f := field{key: name.(string)} // JSON has no other keys
		if err := dec.Decode(&f.value); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		switch {
		case !slices.Contains(known, f.key):
			errs = append(errs, fmt.Errorf("%s: unknown key %q; the keys are %s", where, f.key, strings.Join(known, ", ")))
		case slices.ContainsFunc(fields, func(other field) bool { return other.key == f.key }):
			errs = append(errs, fmt.Errorf("%s: key %q stands twice; give it once", where, f.key))
		}
		fields = append(fields, f)
	}
	return fields, errors.Join(errs...)
}

// tags are the names that the fields of a struct have in JSON.
func tags(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		names = append(names, of.Field(i).Tag.Get("json"))
	}
	return names
}
