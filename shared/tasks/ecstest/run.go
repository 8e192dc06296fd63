package ecstest

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

type runTaskRequest struct {
	CapacityProviderStrategy []struct {
		CapacityProvider string `json:"capacityProvider"`
		Base             int    `json:"base"`
		Weight           int    `json:"weight"`
	} `json:"capacityProviderStrategy"`
	ClientToken          string `json:"clientToken"`
	Cluster              string `json:"cluster"`
	Count                *int   `json:"count"`
	EnableExecuteCommand bool   `json:"enableExecuteCommand"`
	LaunchType           string `json:"launchType"`
	NetworkConfiguration *struct {
		Awsvpc *struct {
			Subnets        []string `json:"subnets"`
			SecurityGroups []string `json:"securityGroups"`
			AssignPublicIP string   `json:"assignPublicIp"`
		} `json:"awsvpcConfiguration"`
	} `json:"networkConfiguration"`
	Overrides       json.RawMessage `json:"overrides"`
	PlatformVersion string          `json:"platformVersion"`
	PropagateTags   string          `json:"propagateTags"`
	StartedBy       string          `json:"startedBy"`
	TaskDefinition  string          `json:"taskDefinition"`
}

type overrides struct {
	Containers []struct {
		Name        string `json:"name"`
		Environment []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"environment"`
	} `json:"containerOverrides"`
}

// The forms of what RunTask takes (the ECS API reference).
var (
	startedByForm   = regexp.MustCompile(`^[A-Za-z0-9\-/_]{0,128}$`)
	clientTokenForm = regexp.MustCompile(`^[\x21-\x7e]{0,64}$`)
)

const (
	maxOverrides = 8192
	// tokenLife is how long a client token is remembered at most. With a task that stopped it is forgotten an hour later.
	tokenLife      = 24 * time.Hour
	stoppedVisible = time.Hour
	// platformVersion is the one that Fargate has for Linux.
	platformVersion = "1.4.0"
)

func (s *Server) runTask(in runTaskRequest) (any, *fault) {
	if refused := s.rightCluster(in.Cluster); refused != nil {
		return nil, refused
	}
	family, definition, ok := s.definition(in.TaskDefinition)
	if !ok {
		return nil, client("TaskDefinition not found.")
	}
	env, refused := in.check(s.o.Providers, definition)
	if refused != nil {
		return nil, refused
	}
	asked, err := json.Marshal(in)
	if err != nil {
		return nil, invalid("%v", err)
	}
	if earlier, used := s.tokens[in.ClientToken]; used && in.ClientToken != "" {
		if !bytes.Equal(earlier.asked, asked) {
			return nil, &fault{status: http.StatusBadRequest, code: "ConflictException", message: "The client token was used with other parameters.", ids: []string{earlier.arn}}
		}
		return ran([]any{earlier.describe(epoch)}, nil), nil
	}
	provider := in.CapacityProviderStrategy[0].CapacityProvider
	if reason, refused := s.faults.refused[provider]; refused {
		return ran(nil, map[string]any{"reason": reason}), nil
	}
	t := s.create(family, definition, provider, in, env)
	t.asked = asked
	if in.ClientToken != "" {
		s.tokens[in.ClientToken] = t
	}
	return ran([]any{t.describe(epoch)}, nil), nil
}

func ran(tasks []any, failure map[string]any) map[string]any {
	failures := []any{}
	if failure != nil {
		failures = append(failures, failure)
	}
	if tasks == nil {
		tasks = []any{}
	}
	return map[string]any{"tasks": tasks, "failures": failures}
}

// check refuses what ECS would, and gives the environment that the overrides set.
func (in runTaskRequest) check(providers []string, d Definition) (map[string]string, *fault) {
	switch {
	case in.Count != nil && *in.Count != 1:
		return nil, invalid("The local ECS runs one task a call, not %d.", *in.Count)
	case in.LaunchType != "" && len(in.CapacityProviderStrategy) > 0:
		return nil, invalid("Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again.")
	case len(in.CapacityProviderStrategy) == 0:
		return nil, invalid("No Container Instances were found in your cluster.")
	case len(in.CapacityProviderStrategy) > 1:
		return nil, invalid("The local ECS takes one capacity provider a call.")
	case !startedByForm.MatchString(in.StartedBy):
		return nil, invalid("startedBy must be at most 128 letters, digits, hyphens, slashes and underscores.")
	case !clientTokenForm.MatchString(in.ClientToken):
		return nil, invalid("clientToken must be at most 64 characters of ASCII 33-126.")
	}
	provider := in.CapacityProviderStrategy[0]
	fargate := strings.HasPrefix(provider.CapacityProvider, "FARGATE")
	if !slices.Contains(providers, provider.CapacityProvider) {
		return nil, invalid("The specified capacity provider '%s' was not found in the cluster.", provider.CapacityProvider)
	}
	if provider.Weight == 0 && provider.Base == 0 {
		return nil, invalid("The capacity provider strategy needs a weight or base greater than zero.")
	}
	switch {
	case in.PlatformVersion != "" && !fargate:
		return nil, invalid("The platform version must be null when specifying an EC2 launch type.")
	case !slices.Contains([]string{"", "LATEST", platformVersion}, in.PlatformVersion):
		return nil, &fault{status: http.StatusBadRequest, code: "PlatformUnknownException", message: "The specified platform version does not exist."}
	case !slices.Contains([]string{"", "NONE", "TASK_DEFINITION"}, in.PropagateTags):
		return nil, invalid("A task that is run by itself can take its tags from its task definition only, not from %s.", in.PropagateTags)
	}
	switch network := in.NetworkConfiguration; {
	case d.Bridge && fargate:
		return nil, client("Fargate only supports network mode ‘awsvpc’.")
	case d.Bridge && network != nil:
		return nil, invalid("Network Configuration is not valid for the given networkMode of this task definition.")
	case d.Bridge:
	case network == nil || network.Awsvpc == nil:
		return nil, invalid("Network Configuration must be provided when networkMode 'awsvpc' is specified.")
	case len(network.Awsvpc.Subnets) == 0:
		return nil, invalid("subnets can not be empty.")
	case !fargate && network.Awsvpc.AssignPublicIP == "ENABLED":
		return nil, invalid("Assign public IP is not supported for this launch type.")
	}
	if utf8.RuneCount(in.Overrides) > maxOverrides {
		return nil, invalid("Container Overrides length must be at most %d", maxOverrides)
	}
	return in.environment(d)
}

func (in runTaskRequest) environment(d Definition) (map[string]string, *fault) {
	env := map[string]string{}
	if len(in.Overrides) == 0 {
		return env, nil
	}
	var given overrides
	if err := json.Unmarshal(in.Overrides, &given); err != nil {
		return nil, invalid("%v", err)
	}
	for _, c := range given.Containers {
		if c.Name != d.Container {
			return nil, invalid("Override for container named %s is not a container in the TaskDefinition.", c.Name)
		}
		for _, v := range c.Environment {
			env[v.Name] = v.Value
		}
	}
	return env, nil
}

// definition finds what a task definition's name or ARN stands for; its name comes as family:revision.
func (s *Server) definition(name string) (string, Definition, bool) {
	name = name[strings.LastIndexByte(name, '/')+1:]
	d, ok := s.o.Definitions[name]
	family, revision, _ := strings.Cut(name, ":")
	if !ok {
		if d, ok = s.o.Definitions[family]; !ok {
			return "", Definition{}, false
		}
	}
	if d.Family != "" {
		family = d.Family
	}
	if revision == "" {
		revision = "1"
	}
	if d.Container == "" {
		d.Container = "worker"
	}
	if d.StopTimeout == 0 {
		d.StopTimeout = 30 * time.Second
	}
	return family + ":" + revision, d, true
}

func (s *Server) create(definition string, d Definition, provider string, in runTaskRequest, env map[string]string) *task {
	var random [16]byte
	rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	s.seq++
	t := &task{
		server: s, seq: s.seq, id: id, arn: s.arn("task", s.o.Cluster+"/"+id), definition: definition, d: d, provider: provider,
		startedBy: in.StartedBy, overrides: in.Overrides, env: env, exec: in.EnableExecuteCommand,
		status: "PROVISIONING", desired: "RUNNING", createdAt: s.o.Now(),
		stopping: make(chan struct{}), killed: make(chan struct{}), events: make(chan Event, maxEvents),
	}
	if in.PropagateTags == "TASK_DEFINITION" {
		t.tags = d.Tags
	}
	if len(t.overrides) == 0 {
		t.overrides = json.RawMessage(`{"containerOverrides":[]}`)
	}
	s.faults.burden(t)
	s.tasks[id] = t
	s.order = append(s.order, t)
	t.change(func() {})
	s.lives.Add(2)
	go t.deliver()
	go t.live()
	return t
}

// forget drops tasks that ECS would no longer tell of, and their client tokens.
func (s *Server) forget() {
	now := s.o.Now()
	if now.Sub(s.forgot) < time.Second && !s.forgot.IsZero() {
		return // it was done just now
	}
	s.forgot = now
	s.order = slices.DeleteFunc(s.order, func(t *task) bool {
		gone := t.status == "STOPPED" && now.Sub(t.stoppedAt) >= stoppedVisible
		if gone {
			delete(s.tasks, t.id)
		}
		return gone
	})
	for token, t := range s.tokens {
		if t.status == "STOPPED" && now.Sub(t.stoppedAt) >= stoppedVisible || now.Sub(t.createdAt) >= tokenLife {
			delete(s.tokens, token)
		}
	}
}
