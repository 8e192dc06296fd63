// Package awserr turns what AWS answers into what can be done about it: the one place that knows AWS's error codes and, where AWS offers nothing else, its words.
//
// The tables (runtask.go, stopped.go) are data, read from top to bottom; the first row that fits decides. Words are compared without regard to case and to the
// kind of apostrophe, and may stand anywhere in the text. What no row knows is retried: an error that AWS invents tomorrow must not lose a session.
package awserr

import "strings"

// plain makes texts comparable.
func plain(text string) string {
	return strings.ToLower(strings.ReplaceAll(text, "’", "'"))
}

// holdsAny says whether a text, made plain, holds one of the words; no words = every text does.
func holdsAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return len(words) == 0
}

// maxReason is how much of AWS's words goes into a reason: enough for people, and little beside a lease's other fields.
const maxReason = 400

// reason joins the parts that are not empty.
func reason(parts ...string) string {
	var given []string
	for _, part := range parts {
		if part != "" {
			given = append(given, part)
		}
	}
	text := []rune(strings.Join(given, ": "))
	if len(text) > maxReason {
		text = append(text[:maxReason-1], '…')
	}
	return string(text)
}
