package wire

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
)

// vault is Secrets Manager with secrets that hold their own names and how often they were read.
type vault struct {
	reads map[string]int
	hang  chan struct{} // while open, the secret "slow" does not answer
}

func (v *vault) GetSecretValue(_ context.Context, in *secretsmanager.GetSecretValueInput, _ ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error) {
	if *in.SecretId == "slow" {
		<-v.hang
		return &secretsmanager.GetSecretValueOutput{SecretString: in.SecretId}, nil
	}
	v.reads[*in.SecretId]++
	return &secretsmanager.GetSecretValueOutput{SecretString: aws.String(*in.SecretId + "-" + string(rune('0'+v.reads[*in.SecretId])))}, nil
}

func TestTokenIsReadOnceAndAgainWhenItIsRejectedButNotAllTheTime(t *testing.T) {
	t.Parallel()
	v := &vault{reads: map[string]int{}}
	now := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	source := (&tokens{api: v, now: func() time.Time { return now }, all: map[string]*token{}}).source("account")
	ask := func(rejected outposts.Secret) string {
		got, err := source(t.Context(), rejected)
		if err != nil {
			t.Fatal(err)
		}
		return got.Reveal()
	}
	got := []string{ask(""), ask(""), ask("account-1")} // rejected in the moment in which it was read: a second reading would say the same
	now = now.Add(rereadAfter)
	got = append(got, ask("account-1"), ask("account-1"), ask("account-2"))
	now = now.Add(rereadAfter)
	got = append(got, ask("account-2"))
	if diff := cmp.Diff([]string{"account-1", "account-1", "account-1", "account-2", "account-2", "account-2", "account-3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSecretThatDoesNotAnswerKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	v := &vault{reads: map[string]int{}, hang: make(chan struct{})}
	all := &tokens{api: v, now: time.Now, all: map[string]*token{}}
	answered := make(chan struct{})
	go func() {
		_, _ = all.source("slow")(t.Context(), "")
		close(answered)
	}()
	for locked := false; !locked; { // until the slow one is being read
		s := all.of("slow")
		if locked = !s.mu.TryLock(); !locked {
			s.mu.Unlock()
		}
	}
	got, err := all.source("account")(t.Context(), "")
	if got.Reveal() != "account-1" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	close(v.hang)
	<-answered
}
