package config

import "regexp"

// What no error may show, wherever people put it: account tokens, and what stands before the @ of a URL, whether quoted (then it may hold anything) or not.
var (
	token    = regexp.MustCompile(`cog_[A-Za-z0-9_-]+`)
	userinfo = regexp.MustCompile(`("(?:[a-z]+://)?)(?:[^"\\]|\\.)*@|[^\s"]+@`)
)

// redacted is an error whose text shows no secret. It is still the error that it was for errors.Is and errors.As.
type redacted struct {
	text  string
	cause error
}

func (r *redacted) Error() string { return r.text }
func (r *redacted) Unwrap() error { return r.cause }

// redact takes the secrets out of an error's text. Every error that leaves this package goes through it.
func redact(err error) error {
	if err == nil {
		return nil
	}
	text := userinfo.ReplaceAllString(err.Error(), "${1}[redacted]@")
	return &redacted{token.ReplaceAllString(text, "[redacted]"), err}
}
