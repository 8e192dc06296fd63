package seal_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/seal"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sivchari/kumo"
)

const token = outposts.Secret("ct_a-token-of-one-session")

// keys is a real client of a KMS in this process; it keeps what was asked of it, since that KMS does not bind a ciphertext to its context as AWS does.
type keys struct {
	*kms.Client
	asked []*kms.EncryptInput
}

func (k *keys) Encrypt(ctx context.Context, in *kms.EncryptInput, opts ...func(*kms.Options)) (*kms.EncryptOutput, error) {
	k.asked = append(k.asked, in)
	return k.Client.Encrypt(ctx, in, opts...)
}

func newKeys(t *testing.T) (*keys, string) {
	t.Helper()
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	k := &keys{Client: kms.New(kms.Options{Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})}
	key, err := k.CreateKey(t.Context(), &kms.CreateKeyInput{})
	if err != nil {
		t.Fatal(err)
	}
	return k, *key.KeyMetadata.KeyId
}

func TestTokenIsEncryptedUnderItsSessionsContextAndComesBack(t *testing.T) {
	t.Parallel()
	k, id := newKeys(t)
	sealed, err := seal.Sealer{API: k, KeyID: id}.Seal(t.Context(), "outpost_env-1", "devin-1", token)
	if err != nil {
		t.Fatal(err)
	}
	want := []*kms.EncryptInput{{KeyId: &id, Plaintext: []byte(token.Reveal()), EncryptionContext: map[string]string{"outpost_id": "outpost_env-1", "session_id": "devin-1"}}}
	if diff := cmp.Diff(want, k.asked, cmpopts.IgnoreUnexported(kms.EncryptInput{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	blob, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil || strings.Contains(sealed, token.Reveal()) || strings.Contains(string(blob), token.Reveal()) {
		t.Fatalf("%q: %v", sealed, err)
	}
	out, err := k.Decrypt(t.Context(), &kms.DecryptInput{CiphertextBlob: blob, EncryptionContext: seal.Context("outpost_env-1", "devin-1")})
	if err != nil || string(out.Plaintext) != token.Reveal() {
		t.Errorf("it comes back as %q: %v", out.Plaintext, err)
	}
}

func TestTokenThatIsTooLongIsFinalAndNotSent(t *testing.T) {
	t.Parallel()
	var none keys // would panic when called
	_, err := seal.Sealer{API: &none, KeyID: "key-1"}.Seal(t.Context(), "outpost_env-1", "devin-1", outposts.Secret(strings.Repeat("x", seal.MaxToken+1)))
	if !errors.Is(err, seal.ErrTooLong) || !strings.Contains(err.Error(), "devin-1") || strings.Contains(err.Error(), "xxx") {
		t.Errorf("%v", err)
	}
}

type refusing struct{ asked int }

func (r *refusing) Encrypt(context.Context, *kms.EncryptInput, ...func(*kms.Options)) (*kms.EncryptOutput, error) {
	r.asked++
	return nil, errors.New("KMS is throttled")
}

func TestLongestTokenIsSentAndAFailureOfKMSMayPass(t *testing.T) {
	t.Parallel()
	api := &refusing{}
	_, err := seal.Sealer{API: api, KeyID: "key-1"}.Seal(t.Context(), "outpost_env-1", "devin-1", outposts.Secret(strings.Repeat("x", seal.MaxToken)))
	if err == nil || errors.Is(err, seal.ErrTooLong) || api.asked != 1 || strings.Contains(err.Error(), "xxx") {
		t.Errorf("%d calls: %v", api.asked, err)
	}
}
