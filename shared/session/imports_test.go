package session_test

import (
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The core is pure: what it imports can neither read a clock nor do I/O nor know AWS. (The package time can read the clock; that nobody calls time.Now is the
// linter's to say, and here too.)
func TestCoreImportsOnlyAPureStandardLibraryAndReadsNoClock(t *testing.T) {
	t.Parallel()
	allowed := []string{"crypto/sha256", "encoding/hex", "slices", "strconv", "strings", "time"}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		seen++
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s: the core decides from values alone, so that every rule can be tested and simulated without a world around it", f.Name(), path)
			}
		}
		for _, clock := range []string{"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After(", "time.NewTimer", "time.Tick"} {
			if strings.Contains(string(text), clock) {
				t.Errorf("%s uses %s: time is a value, View.Now", f.Name(), clock)
			}
		}
	}
	if seen < 5 {
		t.Errorf("looked at %d files only", seen)
	}
}
