// Package settings reads the worker's environment, once, into one struct, and reports every error of it together: the
// variable, its value (unless that could be a secret) and what would be right. A malformed value never falls back to its default.
package settings

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Settings is everything a worker is told from outside. The orchestrator sets the first group for each task; the rest
// comes from the task definition or the image.
type Settings struct {
	OutpostID  Identifier `env:"OUTPOST_ID,required,notEmpty"`
	SessionID  Identifier `env:"OUTPOST_SESSION_ID,required,notEmpty"`
	Gateway    Gateway    `env:"OUTPOST_GATEWAY_URL,required,notEmpty"`
	Ciphertext Ciphertext `env:"OUTPOST_CONNECT_TOKEN_CIPHERTEXT,required,notEmpty" secret:"true"`
	Commit     Commit     `env:"OUTPOST_REMOTE_SHA"`
	AttemptID  Label      `env:"OUTPOST_ATTEMPT_ID"`
	Deadline   Moment     `env:"OUTPOST_DEADLINE"` // zero: no deadline

	Region        Label    `env:"AWS_REGION,required,notEmpty"`
	Mode          Mode     `env:"OUTPOST_MODE" envDefault:"auto"`
	Workdir       Path     `env:"OUTPOST_WORKDIR" envDefault:"/workspace"`
	User          UserName `env:"OUTPOST_USER" envDefault:"devin"`
	Static        Static   `env:"OUTPOST_STATIC_URL" envDefault:"https://static.devin.ai/devin-rs/remote"`
	StopTime      Seconds  `env:"OUTPOST_STOP_SECONDS" envDefault:"110"`
	Setup         Path     `env:"OUTPOST_SETUP"`                          // empty: no set-up script
	AllowSudo     Switch   `env:"OUTPOST_ALLOW_SUDO" envDefault:"false"`  // true: the remote may gain privileges
	AllowSameUser Switch   `env:"OUTPOST_ALLOW_SAME_USER"`                // true: the remote runs as whoever runs the worker
	PassTaskRole  Switch   `env:"OUTPOST_PASS_TASK_ROLE"`                 // true: the session may use the task's AWS role
	ChromePath    Path     `env:"DEVIN_CHROME_PATH"`                      // empty: looked for
	Desktop       Switch   `env:"DEVIN_OUTPOST_DESKTOP"`                  //
	Proxy         Proxy    `env:"HTTPS_PROXY" secret:"true"`              // may hold a password
	CABundle      Path     `env:"SSL_CERT_FILE"`                          //
	GPU           string   `env:"NVIDIA_VISIBLE_DEVICES"`                 // set by ECS for a container with GPUs
	CredentialURI string   `env:"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"` // set by ECS; a secret of ours
}

// Problem is one thing wrong with the environment.
type Problem struct {
	Variable string
	Value    string // quoted and shortened; empty when the variable is not set, "(not shown)" when it could be a secret
	Want     string // what would be right
}

func (p Problem) Error() string {
	if p.Value == "" {
		return fmt.Sprintf("%s is not set: %s", p.Variable, p.Want)
	}
	return fmt.Sprintf("%s is %s: %s", p.Variable, p.Value, p.Want)
}

// Problems is every error of one environment, in the order of the variables in Settings.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Error()
	}
	return strings.Join(lines, "\n")
}

// Doctor is what a machine is checked for by hand, where there need not be a session.
type Doctor struct {
	Gateway    Gateway `env:"OUTPOST_GATEWAY_URL"` // empty: not checked
	Static     Static  `env:"OUTPOST_STATIC_URL" envDefault:"https://static.devin.ai/devin-rs/remote"`
	Workdir    Path    `env:"OUTPOST_WORKDIR" envDefault:"/workspace"`
	ChromePath Path    `env:"DEVIN_CHROME_PATH"`
	Proxy      Proxy   `env:"HTTPS_PROXY" secret:"true"`
	GPU        string  `env:"NVIDIA_VISIBLE_DEVICES"`
}

// Parse reads the settings from environ ("NAME=value" each, as os.Environ gives them). Its error is a Problems.
func Parse(environ []string) (Settings, error) { return parse[Settings](environ) }

// ParseDoctor reads what a machine is to be checked for. Its error is a Problems.
func ParseDoctor(environ []string) (Doctor, error) { return parse[Doctor](environ) }

func parse[T any](environ []string) (T, error) {
	var s, none T
	given := env.ToMap(environ)
	err := env.ParseWithOptions(&s, env.Options{Environment: given})
	if err == nil {
		return s, nil
	}
	var all env.AggregateError
	if !errors.As(err, &all) {
		return none, Problems{{Variable: "the environment", Value: "unreadable", Want: err.Error()}}
	}
	var problems Problems
	for _, one := range all.Errors {
		problems = append(problems, explain(one, reflect.TypeFor[T](), given))
	}
	return none, problems
}

// explain turns one error of the parser, which knows fields, into one that knows variables.
func explain(err error, fields reflect.Type, given map[string]string) Problem {
	if unset, ok := errors.AsType[env.VarIsNotSetError](err); ok {
		return Problem{Variable: unset.Key, Want: "the orchestrator or the task definition must set it"}
	}
	if empty, ok := errors.AsType[env.EmptyVarError](err); ok {
		return Problem{Variable: empty.Key, Value: "empty", Want: "the orchestrator or the task definition must give it a value"}
	}
	parse, ok := errors.AsType[env.ParseError](err)
	if !ok {
		return Problem{Variable: "the environment", Value: "unreadable", Want: err.Error()}
	}
	field, _ := fields.FieldByName(parse.Name)
	name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
	value := "(not shown)"
	if field.Tag.Get("secret") == "" {
		value = shown(given[name])
	}
	return Problem{Variable: name, Value: value, Want: parse.Err.Error()}
}

// shown quotes a value for a message: the query of a URL, which may carry a key, is left out, and so is most of a long value.
func shown(value string) string {
	value, _, cut := strings.Cut(value, "?")
	if cut {
		value += "?…"
	}
	if len(value) > 120 {
		value = value[:120] + "…"
	}
	return fmt.Sprintf("%q", value)
}

// WantsGPU reports whether a task was given a GPU, from the value of its NVIDIA_VISIBLE_DEVICES: ECS and the CUDA images set
// it, and NVIDIA documents "void" and "none" as "no GPU".
func WantsGPU(visible string) bool {
	return visible != "" && visible != "void" && visible != "none"
}

// StopPeriod is how long the remote may take to end after it was asked to.
func (s Settings) StopPeriod() time.Duration { return time.Duration(s.StopTime) * time.Second }
