//go:build testaws

package testaws

import (
	"encoding/base64"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/seal"
)

func TestConnectTokenOpensForItsOwnSessionAndOutpostOnly(t *testing.T) {
	t.Parallel()
	client := kms.NewFromConfig(moto(t))
	key, err := client.CreateKey(t.Context(), &kms.CreateKeyInput{})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := seal.Sealer{API: client, KeyID: *key.KeyMetadata.Arn}.Seal(t.Context(), "outpost_env-1", "devin-1", outposts.Secret("connect-me"))
	if err != nil {
		t.Fatal(err)
	}
	blob, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		t.Fatal(err)
	}
	open := func(context map[string]string) (string, error) {
		out, err := client.Decrypt(t.Context(), &kms.DecryptInput{CiphertextBlob: blob, EncryptionContext: context})
		if err != nil {
			return "", err
		}
		return string(out.Plaintext), nil
	}
	if got, err := open(seal.Context("outpost_env-1", "devin-1")); got != "connect-me" || err != nil {
		t.Errorf("with its own context: %q, %v", got, err)
	}
	for name, context := range map[string]map[string]string{
		"another session": seal.Context("outpost_env-1", "devin-2"),
		"another outpost": seal.Context("outpost_env-2", "devin-1"),
		"no context":      nil,
		"one key more":    {"outpost_id": "outpost_env-1", "session_id": "devin-1", "more": "x"},
		"one key less":    {"session_id": "devin-1"},
	} {
		var refused *types.InvalidCiphertextException
		if got, err := open(context); !errors.As(err, &refused) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}
