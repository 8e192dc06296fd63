package redact

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretsAreHiddenInEveryFormTheyTurnUpIn(t *testing.T) {
	t.Parallel()
	var s Secrets
	s.Add(`tok/en+"1`)
	s.Add("") // hides nothing
	for text, want := range map[string]string{
		`plain`:                         `plain`,
		`say tok/en+"1 aloud`:           `say [redacted] aloud`,
		`?t=tok%2Fen%2B%221&x=1`:        `?t=[redacted]&x=1`,
		`{"t":"tok/en+\"1"}`:            `{"t":"[redacted]"}`,
		`dG9rL2VuKyIx`:                  `[redacted]`,
		`tok/en+"1tok/en+"1`:            `[redacted][redacted]`,
		`tok/en`:                        `tok/en`,
		`Bearer cog_abcDEF123-_456!`:    `Bearer [redacted]!`,
		`a cog_wheel turns`:             `a cog_wheel turns`,
		`cog_cog_1234 and cog_12345678`: `[redacted] and [redacted]`,
	} {
		if diff := cmp.Diff(want, s.String(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestSecretCutAtAnyPlaceIsStillHidden(t *testing.T) {
	t.Parallel()
	var s Secrets
	s.Add("abcabcabd")
	text := "x abcabcabcabd y cog_0123456789abcdef z abc"
	want := "x abc[redacted] y [redacted] z abc"
	for i := 0; i <= len(text); i++ {
		for j := i; j <= len(text); j++ {
			var out bytes.Buffer
			st := s.Stream(&out)
			for _, piece := range []string{text[:i], text[i:j], text[j:]} {
				if _, err := st.Write([]byte(piece)); err != nil {
					t.Fatal(err)
				}
			}
			if err := st.Flush(); err != nil {
				t.Fatal(err)
			}
			if out.String() != want {
				t.Fatalf("cut at %d and %d: %q, want %q", i, j, out.String(), want)
			}
		}
	}
}

func TestStreamHoldsBackOnlyWhatCouldBecomeASecret(t *testing.T) {
	t.Parallel()
	var s Secrets
	s.Add("secret")
	var out bytes.Buffer
	st := s.Stream(&out)
	for _, step := range []struct{ piece, shown string }{
		{"login: ", "login: "}, {"sec", "login: "}, {"ond", "login: second"}, {"secre", "login: second"}, {"t!", "login: second[redacted]!"},
	} {
		if _, err := st.Write([]byte(step.piece)); err != nil {
			t.Fatal(err)
		}
		if out.String() != step.shown {
			t.Errorf("after %q: %q, want %q", step.piece, out.String(), step.shown)
		}
	}
}

// FuzzStream proves that no cut lets a secret through, and that nothing but secrets is lost.
func FuzzStream(f *testing.F) {
	f.Add("token-1234", "say token-1234 twice token-1234", uint8(3), uint8(7))
	f.Add("aab", "aaaab cog_12345678x", uint8(1), uint8(1))
	f.Add("cog_abcdefghij", "cog_abcdefghijk", uint8(5), uint8(2))
	f.Add("ed] t", "the mark is [redacted] there", uint8(5), uint8(2))
	f.Fuzz(func(t *testing.T, secret, text string, first, step uint8) {
		var s Secrets
		s.Add(secret)
		var out bytes.Buffer
		st := s.Stream(&out)
		rest := []byte(text)
		for n := int(first); len(rest) > 0; n = int(step) + 1 {
			n = min(max(n, 1), len(rest))
			if _, err := st.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := st.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != s.String(text) {
			t.Fatalf("in pieces %q, whole %q", out.String(), s.String(text))
		}
		between := strings.Split(out.String(), Mark)
		if len(between) == 1 && out.String() != text {
			t.Fatalf("%q became %q though nothing was hidden", text, out.String())
		}
		for _, part := range between {
			if secret != "" && !strings.Contains(text, Mark) && strings.Contains(part, secret) {
				t.Fatalf("%q is still in %q", secret, out.String())
			}
		}
	})
}
