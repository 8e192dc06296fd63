package unseal

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRequestBindsOutpostAndSession(t *testing.T) {
	t.Parallel()
	want := &kms.DecryptInput{CiphertextBlob: []byte{1, 2}, EncryptionContext: map[string]string{"outpost_id": "o", "session_id": "s"}}
	if diff := cmp.Diff(want, request("o", "s", []byte{1, 2}), cmpopts.IgnoreUnexported(kms.DecryptInput{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnlyPrintableTextIsAToken(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"ey.J-_=+/": true, "": false, "a b": false, "a\nb": false, "a\x00": false, "é": false} {
		if plausible(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestRefusalSaysWhatToLookAt(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{"AccessDeniedException": "task role", "InvalidCiphertextException": "encryption context", "NotFoundException": "key is missing"} {
		if got := advice(&smithy.GenericAPIError{Code: code}); !strings.Contains(got, want) {
			t.Errorf("%s: %q", code, got)
		}
	}
	if got := advice(errors.New("no network")); got != "" {
		t.Errorf("%q", got)
	}
}
