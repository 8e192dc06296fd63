package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// Outpost is one queue of sessions that this deployment serves.
type Outpost struct {
	ID             string
	TokenSecret    string // id or ARN of the Secrets Manager secret that holds the account token
	MaxSessions    int    // at once; 0 = none, and those that wait for a worker are given back
	Watch          bool   // follow the queue between listings
	MaxFailures    int    // attempts at one session before it is given back
	MaxAge         time.Duration
	RefusePolicies bool
	Capacity       []Capacity // tried in order
}

// Capacity is one way to run a worker.
type Capacity struct {
	Name           string   `json:"name"`
	Provider       string   `json:"provider"`
	TaskDefinition string   `json:"task_definition"`
	Container      string   `json:"container"`
	Subnets        []string `json:"subnets"`
	SecurityGroups []string `json:"security_groups"`
	AssignPublicIP bool     `json:"assign_public_ip"`

	// PlatformVersion is Fargate's, LATEST or a number; empty = not asked for, which gives the latest.
	PlatformVersion string `json:"platform_version"`
	// Exec lets ECS Exec into the tasks; their role must allow it, too.
	Exec bool `json:"exec"`
	// PropagateTags gives tasks the tags of their definition. Whoever calls RunTask then needs ecs:TagResource.
	PropagateTags bool `json:"propagate_tags"`
}

// platformVersion is a number such as 1.4.0 (AWS, "Fargate platform versions").
var platformVersion = regexp.MustCompile(`^(LATEST|\d+\.\d+\.\d+)$`)

// Find answers the capacity choice of that name; the first when there is none of it (it has left the configuration).
func (o *Outpost) Find(name string) Capacity {
	for _, c := range o.Capacity {
		if c.Name == name {
			return c
		}
	}
	return o.Capacity[0]
}

// Terms are the outpost's rules as the core knows them, but for draining and breakers, which are read from the table.
func (o *Outpost) Terms(acceptorID string) session.Terms {
	t := session.Terms{Known: true, AcceptorID: acceptorID, MaxFailures: o.MaxFailures, MaxAge: o.MaxAge, RefusePolicies: o.RefusePolicies, Draining: o.MaxSessions == 0}
	for _, c := range o.Capacity {
		t.Capacity = append(t.Capacity, session.Choice{Name: c.Name})
	}
	return t
}

// written is an outpost as people write it.
type written struct {
	OutpostID       string     `json:"outpost_id"`
	TokenSecret     string     `json:"token_secret"`
	MaxSessions     *int       `json:"max_sessions"`
	Dispatch        string     `json:"dispatch"`
	MaxFailures     *int       `json:"max_failures"`
	MaxSessionHours *float64   `json:"max_session_hours"`
	NetworkPolicy   string     `json:"network_policy"`
	Capacity        []Capacity `json:"capacity"`
}

// ParseOutposts reads a JSON list of outposts. Keys that are unknown, in letters of another case or repeated are errors; all errors are told at once, each naming the
// key, the value (but no secret) and what would be right.
func ParseOutposts(where, text string) ([]Outpost, error) {
	list, err := parseOutposts(where, text)
	return list, redact(err)
}

func parseOutposts(where, text string) ([]Outpost, error) {
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("%s: not a JSON list of outposts: %w", where, err)
	}
	var out []Outpost
	var errs []error
	if len(list) == 0 {
		errs = append(errs, fmt.Errorf("%s: the list is empty; name at least one outpost", where))
	}
	for i, raw := range list {
		o, err := parseOutpost(fmt.Sprintf("%s[%d]", where, i), raw)
		out, errs = append(out, o), append(errs, err)
	}
	return out, errors.Join(append(errs, distinct(where, out))...)
}

// distinct says which outposts are named twice: they would share one counter.
func distinct(where string, list []Outpost) error {
	seen := map[string]bool{}
	var errs []error
	for _, o := range list {
		if seen[o.ID] && o.ID != "" {
			errs = append(errs, fmt.Errorf("%s: outpost_id %q stands twice; name each outpost once", where, o.ID))
		}
		seen[o.ID] = true
	}
	return errors.Join(errs...)
}

// parseOutpost reads and checks one outpost, and fills in the defaults.
func parseOutpost(where string, raw []byte) (Outpost, error) {
	errs := []error{checkKeys(where, raw)}
	var w written
	if err := json.Unmarshal(raw, &w); err != nil {
		return Outpost{}, errors.Join(append(errs, fmt.Errorf("%s: %w", where, err))...)
	}
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(where+"."+format, args...)) }
	if w.OutpostID == "" {
		bad("outpost_id: missing; give the outpost's id, such as outpost_env-…")
	}
	switch {
	case w.TokenSecret == "":
		bad("token_secret: missing; give the id or ARN of the Secrets Manager secret that holds the account token")
	case strings.HasPrefix(w.TokenSecret, "cog_"):
		bad("token_secret: this looks like the account token itself, which must not stand here; give the id or ARN of the Secrets Manager secret that holds it")
	}
	whole := func(key string, v *int, least, most, standard int) int {
		if v == nil {
			return standard
		}
		if *v < least || *v > most {
			bad("%s: %d; give a whole number from %d to %d", key, *v, least, most)
		}
		return *v
	}
	if w.MaxSessions == nil {
		bad("max_sessions: missing; give the most sessions to run at once (0 drains the outpost)")
	}
	o := Outpost{ID: w.OutpostID, TokenSecret: w.TokenSecret, Capacity: w.Capacity,
		MaxSessions: whole("max_sessions", w.MaxSessions, 0, 10000, 0), MaxFailures: whole("max_failures", w.MaxFailures, 1, 100, 3)}
	hours := 24.0
	if w.MaxSessionHours != nil {
		hours = *w.MaxSessionHours
	}
	if hours <= 8760 {
		o.MaxAge = time.Duration(hours * float64(time.Hour))
	}
	if o.MaxAge <= 0 {
		bad("max_session_hours: %v; give a number above 0, at most 8760", hours)
	}
	choice := func(key, v string, standard string, others ...string) string {
		all := append([]string{standard}, others...)
		if v == "" {
			return standard
		}
		if !slices.Contains(all, v) {
			bad("%s: %q; give one of %s", key, v, strings.Join(all, ", "))
		}
		return v
	}
	o.Watch = choice("dispatch", w.Dispatch, "watch", "poll") == "watch"
	o.RefusePolicies = choice("network_policy", w.NetworkPolicy, "refuse", "ignore") == "refuse"
	return o, errors.Join(append(errs, checkCapacity(where, w.Capacity))...)
}

func checkCapacity(where string, list []Capacity) error {
	var errs []error
	if len(list) == 0 {
		errs = append(errs, fmt.Errorf("%s.capacity: missing; name at least one capacity choice", where))
	}
	seen := map[string]bool{}
	for i, c := range list {
		at := fmt.Sprintf("%s.capacity[%d]", where, i)
		for _, f := range []struct{ key, value string }{{"name", c.Name}, {"provider", c.Provider}, {"task_definition", c.TaskDefinition}, {"container", c.Container}} {
			if f.value == "" {
				errs = append(errs, fmt.Errorf("%s.%s: missing", at, f.key))
			}
		}
		if seen[c.Name] && c.Name != "" {
			errs = append(errs, fmt.Errorf("%s.name: %q stands twice; give each choice a name of its own", at, c.Name))
		}
		seen[c.Name] = true
		if len(c.Subnets) == 0 && (len(c.SecurityGroups) > 0 || c.AssignPublicIP) {
			errs = append(errs, fmt.Errorf("%s.subnets: empty, which means no network configuration; then security_groups and assign_public_ip must be left out", at))
		}
		switch {
		case c.PlatformVersion == "":
		case !platformVersion.MatchString(c.PlatformVersion):
			errs = append(errs, fmt.Errorf("%s.platform_version: %q; give LATEST or a number such as 1.4.0", at, c.PlatformVersion))
		case c.Provider != "FARGATE" && c.Provider != "FARGATE_SPOT":
			errs = append(errs, fmt.Errorf("%s.platform_version: %q; only Fargate has one, so leave it out for provider %q", at, c.PlatformVersion, c.Provider))
		}
	}
	return errors.Join(errs...)
}
