package outposts

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a token. However it is printed, logged or marshalled it reads
// "[redacted]"; only [Secret.Reveal] gives the text. Keep it out of unexported
// struct fields that may be printed: fmt prints those without asking them.
type Secret string

// Reveal returns the token itself.
func (s Secret) Reveal() string { return string(s) }

// String returns "[redacted]".
func (s Secret) String() string { return redacted }

// Format writes "[redacted]" for every verb, %x and %d included.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// MarshalText returns "[redacted]", for JSON and every other text encoding.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns "[redacted]".
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
