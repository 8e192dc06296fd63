package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
)

// SecretsAPI is the part of Secrets Manager that is called.
type SecretsAPI interface {
	GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error)
}

// tokens reads account tokens once and keeps them for as long as they are accepted.
type tokens struct {
	api SecretsAPI
	now func() time.Time
	mu  sync.Mutex
	all map[string]*token // by secret
}

// token is one secret's. The lock is held while it is read: those who ask for it meanwhile wait for the same answer, and those who ask for another's do not.
type token struct {
	mu   sync.Mutex
	have outposts.Secret
	read time.Time
}

// rereadAfter is how long a token that was rejected is not read again: many calls hear of it at once.
const rereadAfter = 10 * time.Second

func (t *tokens) of(secretID string) *token {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[secretID] == nil {
		t.all[secretID] = &token{}
	}
	return t.all[secretID]
}

// source answers the token in a secret; it is read anew when the one we have was rejected.
func (t *tokens) source(secretID string) outposts.TokenSource {
	return func(ctx context.Context, rejected outposts.Secret) (outposts.Secret, error) {
		s := t.of(secretID)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.have != "" && (s.have != rejected || t.now().Sub(s.read) < rereadAfter) {
			return s.have, nil
		}
		out, err := t.api.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &secretID})
		if err != nil {
			return "", fmt.Errorf("read the account token from secret %s: %w", secretID, err)
		}
		fresh := tokenIn(aws.ToString(out.SecretString))
		if fresh == "" {
			return "", fmt.Errorf("secret %s holds no account token: store the token itself, or JSON with a key \"token\"", secretID)
		}
		s.have, s.read = fresh, t.now()
		return fresh, nil
	}
}

// tokenIn reads a secret's string: the token itself, or JSON with a key "token".
func tokenIn(s string) outposts.Secret {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{") {
		return outposts.Secret(s)
	}
	var j struct {
		Token string `json:"token"`
	}
	if json.Unmarshal([]byte(s), &j) != nil {
		return ""
	}
	return outposts.Secret(strings.TrimSpace(j.Token))
}
