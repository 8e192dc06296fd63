// Package config reads what a function is told: its environment, and the outposts it serves (in the environment, or in SSM parameters that are read again every
// minute). It checks everything at once; no malformed value ever falls back to its default.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Env is a function's environment, the same for all four.
type Env struct {
	Outposts   string   `env:"OUTPOSTS"`
	Parameters []string `env:"OUTPOSTS_PARAMETERS"`
	APIURL     string   `env:"DEVIN_API_URL" envDefault:"https://api.devin.ai"`
	AcceptorID string   `env:"ACCEPTOR_ID"`
	Table      string   `env:"LEASE_TABLE"`
	QueueURL   string   `env:"OFFER_QUEUE_URL"`
	Cluster    string   `env:"CLUSTER"`
	KeyID      string   `env:"TOKEN_KEY_ID"`
}

// Load reads and checks an environment, given as KEY=value strings; see [Lines] for telling its errors, which show no secret.
func Load(environ []string) (Env, error) {
	e, err := load(environ)
	return e, redact(err)
}

func load(environ []string) (Env, error) {
	e, err := env.ParseAsWithOptions[Env](env.Options{Environment: env.ToMap(environ)})
	if err != nil {
		return Env{}, err
	}
	var errs []error
	for _, v := range []struct{ name, value, right string }{
		{"ACCEPTOR_ID", e.AcceptorID, "give this deployment's identity, which no other deployment shares"},
		{"LEASE_TABLE", e.Table, "give the name of the lease table"},
		{"OFFER_QUEUE_URL", e.QueueURL, "give the URL of the offer queue"},
		{"CLUSTER", e.Cluster, "give the ARN of the ECS cluster"},
		{"TOKEN_KEY_ID", e.KeyID, "give the id of the KMS key for connect tokens"},
	} {
		if v.value == "" {
			errs = append(errs, fmt.Errorf("%s is missing; %s", v.name, v.right))
		}
	}
	if e.APIURL != "" {
		errs = append(errs, checkURL("DEVIN_API_URL", e.APIURL))
	}
	for i, name := range e.Parameters {
		if e.Parameters[i] = strings.TrimSpace(name); e.Parameters[i] == "" {
			errs = append(errs, errors.New("OUTPOSTS_PARAMETERS holds an empty name; give names of SSM parameters with commas between them"))
		}
	}
	switch {
	case e.Outposts == "" && len(e.Parameters) == 0:
		errs = append(errs, errors.New("OUTPOSTS is missing; give a JSON list of outposts, or name SSM parameters in OUTPOSTS_PARAMETERS"))
	case e.Outposts != "" && len(e.Parameters) > 0:
		errs = append(errs, errors.New("OUTPOSTS and OUTPOSTS_PARAMETERS are both set; give one of them"))
	case e.Outposts != "":
		_, err := parseOutposts("OUTPOSTS", e.Outposts)
		errs = append(errs, err)
	}
	return e, errors.Join(errs...)
}

// checkURL demands HTTPS, except on loopback.
func checkURL(name, value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("%s: %q is no URL; give one such as https://api.devin.ai", name, value)
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s: %q would send the account token in the clear; give an https URL", name, value)
	}
	return nil
}

// Lines tells an error of this package as one line per error.
func Lines(err error) []string {
	if err == nil {
		return nil
	}
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
