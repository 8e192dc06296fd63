// Package unseal gets the connect token in the clear: KMS decrypts it, by the task's role, and only under the encryption
// context of this very outpost and session.
package unseal

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/smithy-go"
)

// attempts bounds the calls of KMS; with the SDK's back-off they take about 30 seconds at the worst. A task's role can take
// a few seconds to become known everywhere.
const attempts = 6

// Token decrypts ciphertext. Credentials, endpoint and proxy are found as by every AWS SDK.
func Token(ctx context.Context, region, outpost, session string, ciphertext []byte) (string, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithRetryMaxAttempts(attempts))
	if err != nil {
		return "", fmt.Errorf("load the AWS configuration: %w", err)
	}
	client := kms.NewFromConfig(cfg, func(o *kms.Options) {
		o.Retryer = retry.AddWithErrorCodes(o.Retryer, "AccessDeniedException") // until the role has spread
	})
	answer, err := client.Decrypt(ctx, request(outpost, session, ciphertext))
	if err != nil {
		return "", fmt.Errorf("decrypt the connect token of session %s: %w%s", session, err, advice(err))
	}
	token := string(answer.Plaintext)
	if !plausible(token) {
		return "", fmt.Errorf("decrypt the connect token of session %s: what KMS gave is no token (%d bytes, not all of them printable)", session, len(token))
	}
	return token, nil
}

func request(outpost, session string, ciphertext []byte) *kms.DecryptInput {
	return &kms.DecryptInput{
		CiphertextBlob:    ciphertext,
		EncryptionContext: map[string]string{"outpost_id": outpost, "session_id": session},
	}
}

// plausible keeps what is no token out of an environment variable.
func plausible(token string) bool {
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return token != ""
}

// advice adds to AWS's own words what to look at.
func advice(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return ""
	}
	switch api.ErrorCode() {
	case "InvalidCiphertextException":
		return " (the ciphertext is not for this outpost and session: their ids are its encryption context)"
	case "AccessDeniedException":
		return " (the task role must allow kms:Decrypt with the token key under kms:EncryptionContext:outpost_id)"
	case "NotFoundException", "DisabledException", "KMSInvalidStateException":
		return " (the token key is missing or disabled in this region)"
	}
	return ""
}
