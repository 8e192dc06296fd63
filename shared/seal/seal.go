// Package seal encrypts connect tokens, so that only the worker of their own session can read them: the KMS encryption context binds a ciphertext to outpost and
// session, and a task role may decrypt under its own outpost only.
package seal

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
)

// MaxToken is the longest token, in bytes, that KMS encrypts in one call, as AWS documents.
const MaxToken = 4096

// ErrTooLong: the token is longer than [MaxToken].
var ErrTooLong = errors.New("the connect token is longer than the 4,096 bytes that KMS encrypts")

// API is the part of KMS that is called.
type API interface {
	Encrypt(context.Context, *kms.EncryptInput, ...func(*kms.Options)) (*kms.EncryptOutput, error)
}

// Sealer encrypts with one key.
type Sealer struct {
	API   API
	KeyID string
}

// Context is the KMS encryption context of a session's token.
func Context(outpostID, sessionID string) map[string]string {
	return map[string]string{"outpost_id": outpostID, "session_id": sessionID}
}

// Seal answers the ciphertext of the token in base64. ErrTooLong is final; any other error may pass.
func (s Sealer) Seal(ctx context.Context, outpostID, sessionID string, token outposts.Secret) (string, error) {
	plain := []byte(token.Reveal())
	if len(plain) > MaxToken {
		return "", fmt.Errorf("encrypt the connect token of session %s: %w", sessionID, ErrTooLong)
	}
	out, err := s.API.Encrypt(ctx, &kms.EncryptInput{KeyId: &s.KeyID, Plaintext: plain, EncryptionContext: Context(outpostID, sessionID)})
	if err != nil {
		return "", fmt.Errorf("encrypt the connect token of session %s: %w", sessionID, err)
	}
	return base64.StdEncoding.EncodeToString(out.CiphertextBlob), nil
}
