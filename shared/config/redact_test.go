package config

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestNoErrorShowsATokenWhereverItWasPut(t *testing.T) {
	t.Parallel()
	const secret = "cog_aB-9_zz"
	outposts := func(old, new string) string { return "OUTPOSTS=[" + strings.Replace(least, old, new, 1) + "]" }
	repeated := strings.Replace(least, `"o1"`, `"`+secret+`"`, 1)
	for name, change := range map[string]string{
		"as the secret's id":        outposts(`"s1"`, `"`+secret+`"`),
		"as a choice":               outposts(`"max_sessions"`, `"dispatch":"`+secret+`","max_sessions"`),
		"inside a choice":           outposts(`"max_sessions"`, `"network_policy":"x\n`+secret+`\n","max_sessions"`),
		"as a key":                  outposts(`"max_sessions"`, `"`+secret+`":1,"max_sessions"`),
		"as a key, escaped":         outposts(`"max_sessions"`, `"\u0063og_aB-9_zz":1,"max_sessions"`),
		"as a key of a choice":      outposts(`"name"`, `"`+secret+`":1,"name"`),
		"as a repeated id":          "OUTPOSTS=[" + repeated + "," + repeated + "]",
		"as a platform version":     outposts(`"name"`, `"platform_version":"`+secret+`","name"`),
		"as a provider":             outposts(`"FARGATE_SPOT"`, `"`+secret+`","platform_version":"1.4.0"`),
		"as a URL":                  "DEVIN_API_URL=" + secret,
		"in a URL":                  "DEVIN_API_URL=http://api.example/" + secret,
		"as a URL's user":           "DEVIN_API_URL=http://" + secret + "@api.example",
		"as a URL's password":       "DEVIN_API_URL=http://user:" + secret + "@api.example",
		"where a list should stand": "OUTPOSTS=" + secret,
	} {
		_, err := Load(environ(change))
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, text := range append(Lines(err), err.Error(), fmt.Sprintf("%v %q %+v", err, err, fmt.Errorf("start: %w", err))) {
			if strings.Contains(text, "aB-9") || strings.Contains(text, "cog_a") {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
	if got, want := redact(errors.New(`dispatch: "cog_x-1"; cog_y`)).Error(), `dispatch: "[redacted]"; [redacted]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNoErrorShowsWhatStandsBeforeTheHostOfAURL(t *testing.T) {
	t.Parallel()
	for url, shown := range map[string]string{
		"http://hidden@api.example":               `"http://[redacted]@api.example" would send`,
		"http://user:hidden@api.example/x":        `"http://[redacted]@api.example/x" would send`,
		"https://user:hid/hidden@api.example":     `"https://[redacted]@api.example" is no URL`,
		"https://user:a@hidden%zz@api.example":    `"https://[redacted]@api.example" is no URL`,
		"ftp://user:hidden@api.example":           `"ftp://[redacted]@api.example" is no URL`,
		"user:hidden@api.example":                 `"[redacted]@api.example" is no URL`,
		"user:a hidden@api.example":               `"[redacted]@api.example" is no URL`,
		`http://user:hidden"hidden@api.example`:   `"http://[redacted]@api.example" is no URL`,
		"https://user:hidden\nhidden@api.example": `"https://[redacted]@api.example" is no URL`,
	} {
		_, err := Load(environ("DEVIN_API_URL=" + url))
		if err == nil || strings.Contains(err.Error(), "hid") || !strings.Contains(err.Error(), shown) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if got, want := redact(errors.New(`Get https://user:hidden@ssm.example/: refused`)).Error(), `Get [redacted]@ssm.example/: refused`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestErrorsOfParametersShowNoSecretAndAreStillWhatTheyWere(t *testing.T) {
	t.Parallel()
	api := newParameters(t)
	api.put(t, "/outposts/with-a-token", `{"cog_hidden":1}`)
	s := &Source{Env: Env{Parameters: []string{"/outposts/with-a-token"}}, SSM: api, Now: func() time.Time { return time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC) }}
	if _, err := s.Outposts(t.Context()); err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), `unknown key "[redacted]"`) {
		t.Error(err)
	}
	api.broken = fmt.Errorf("cog_hidden: %w", context.DeadlineExceeded)
	if _, err := s.Outposts(t.Context()); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "hidden") {
		t.Error(err)
	}
	if redact(nil) != nil {
		t.Error("no error has become one")
	}
}
