package tasks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/devin-outposts/devin-outposts-aws/events"
)

// The environment of a worker that RunTask sets.
const (
	EnvOutpost    = "OUTPOST_ID"
	EnvSession    = "OUTPOST_SESSION_ID"
	EnvGateway    = "OUTPOST_GATEWAY_URL"
	EnvCiphertext = "OUTPOST_CONNECT_TOKEN_CIPHERTEXT"
	EnvRemoteSHA  = "OUTPOST_REMOTE_SHA"
	EnvAttempt    = "OUTPOST_ATTEMPT_ID"
	EnvDeadline   = "OUTPOST_DEADLINE"
)

// MaxOverrides is how many characters RunTask's overrides may have, JSON included (the ECS API reference).
const MaxOverrides = 8192

// ErrTooLarge says that a session's launch does not fit into RunTask's overrides. No repetition mends that.
var ErrTooLarge = errors.New("the launch is too large for RunTask")

// Launch is one attempt to run a session's worker.
type Launch struct {
	// Where.
	Cluster        string
	TaskDefinition string // family, family:revision or ARN
	Container      string // of the worker, in the task definition
	Provider       string // capacity provider
	Subnets        []string
	SecurityGroups []string
	AssignPublicIP bool // with Subnets only

	// How. Without these the request says nothing of it.
	PlatformVersion string // of Fargate
	Exec            bool   // ECS Exec may open a shell in the task
	PropagateTags   bool   // the task gets its definition's tags

	// What.
	OutpostID  string
	SessionID  string
	GatewayURL string
	Ciphertext string    // the connect token, encrypted, base64
	RemoteSHA  string    // empty = the newest remote
	AttemptID  string    // the client token, at most 64 characters
	Deadline   time.Time // zero = none

	// Until is when the call ends, by the caller's clock; it is no part of the request. The context's deadline says the same by the machine's clock.
	Until time.Time
}

// RunTaskInput builds the request. The same launch gives the same request, so that a repeated call is the same call to ECS. Without subnets it carries no network
// configuration, as the bridge network wants. It always names a capacity provider and never a launch type: with that, scaling from zero would not begin.
// An error that is [ErrTooLarge] is the session's own; any other means that the launch is incomplete.
func RunTaskInput(l Launch) (*ecs.RunTaskInput, error) {
	for _, field := range []struct{ name, value string }{
		{"cluster", l.Cluster}, {"task definition", l.TaskDefinition}, {"container", l.Container}, {"capacity provider", l.Provider},
		{"outpost id", l.OutpostID}, {"session id", l.SessionID}, {"attempt id", l.AttemptID}, {"gateway URL", l.GatewayURL}, {"ciphertext", l.Ciphertext},
	} {
		if field.value == "" {
			return nil, fmt.Errorf("launch session %s: the %s is missing", l.SessionID, field.name)
		}
	}
	environment := l.environment()
	if n := overridesLength(l.Container, environment); n > MaxOverrides {
		return nil, fmt.Errorf("launch session %s: %w: its overrides have %d characters, ECS takes %d; the connect token or the gateway URL is too long",
			l.SessionID, ErrTooLarge, n, MaxOverrides)
	}
	override := types.ContainerOverride{Name: aws.String(l.Container)}
	for _, v := range environment {
		override.Environment = append(override.Environment, types.KeyValuePair{Name: aws.String(v.Name), Value: aws.String(v.Value)})
	}
	in := &ecs.RunTaskInput{
		Cluster:                  aws.String(l.Cluster),
		TaskDefinition:           aws.String(l.TaskDefinition),
		CapacityProviderStrategy: []types.CapacityProviderStrategyItem{{CapacityProvider: aws.String(l.Provider), Weight: 1}},
		ClientToken:              aws.String(l.AttemptID),
		Count:                    aws.Int32(1),
		Overrides:                &types.TaskOverride{ContainerOverrides: []types.ContainerOverride{override}},
		StartedBy:                aws.String(StartedBy(l.SessionID)),
		EnableExecuteCommand:     l.Exec,
	}
	if l.PlatformVersion != "" {
		in.PlatformVersion = aws.String(l.PlatformVersion)
	}
	if l.PropagateTags {
		in.PropagateTags = types.PropagateTagsTaskDefinition
	}
	if len(l.Subnets) > 0 {
		network := &types.AwsVpcConfiguration{Subnets: l.Subnets, SecurityGroups: l.SecurityGroups, AssignPublicIp: types.AssignPublicIpDisabled}
		if l.AssignPublicIP {
			network.AssignPublicIp = types.AssignPublicIpEnabled
		}
		in.NetworkConfiguration = &types.NetworkConfiguration{AwsvpcConfiguration: network}
	}
	return in, nil
}

func (l Launch) environment() []events.Variable {
	environment := []events.Variable{
		{Name: EnvOutpost, Value: l.OutpostID},
		{Name: EnvSession, Value: l.SessionID},
		{Name: EnvGateway, Value: l.GatewayURL},
		{Name: EnvCiphertext, Value: l.Ciphertext},
		{Name: EnvRemoteSHA, Value: l.RemoteSHA},
		{Name: EnvAttempt, Value: l.AttemptID},
	}
	if !l.Deadline.IsZero() {
		environment = append(environment, events.Variable{Name: EnvDeadline, Value: l.Deadline.UTC().Format(time.RFC3339)})
	}
	return environment
}

// overridesLength is the length of the overrides as the SDK writes them, in characters.
func overridesLength(container string, environment []events.Variable) int {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	// Strings cannot fail to encode.
	_ = e.Encode(events.Overrides{Containers: []events.ContainerOverride{{Name: container, Environment: environment}}})
	return utf8.RuneCount(bytes.TrimSpace(text.Bytes()))
}

// What ECS takes for startedBy: at most so many of these characters (the ECS API reference).
const (
	startedByMax   = 128
	startedByChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-/_"
)

// StartedBy is RunTask's startedBy for a session: its id when ECS takes that, else what can be read of it, and a hash.
func StartedBy(sessionID string) string {
	legal := strings.Map(func(r rune) rune {
		if strings.ContainsRune(startedByChars, r) {
			return r
		}
		return '_'
	}, sessionID)
	if legal == sessionID && sessionID != "" && len(sessionID) <= startedByMax {
		return sessionID
	}
	sum := sha256.Sum256([]byte(sessionID))
	return legal[:min(len(legal), 60)] + "-" + hex.EncodeToString(sum[:20])
}
