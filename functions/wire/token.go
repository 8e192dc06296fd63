package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

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
	api  SecretsAPI
	mu   sync.Mutex
	have map[string]outposts.Secret
}

// source answers the token in a secret; it is read anew when the one we have was rejected.
func (t *tokens) source(secretID string) outposts.TokenSource {
	return func(ctx context.Context, rejected outposts.Secret) (outposts.Secret, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if have, ok := t.have[secretID]; ok && have != rejected {
			return have, nil
		}
		out, err := t.api.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &secretID})
		if err != nil {
			return "", fmt.Errorf("read the account token from secret %s: %w", secretID, err)
		}
		token := tokenIn(aws.ToString(out.SecretString))
		if token == "" {
			return "", fmt.Errorf("secret %s holds no account token: store the token itself, or JSON with a key \"token\"", secretID)
		}
		t.have[secretID] = token
		return token, nil
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
