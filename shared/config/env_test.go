package config

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func environ(changes ...string) []string {
	return append([]string{"OUTPOSTS=[" + least + "]", "ACCEPTOR_ID= verbatim ", "LEASE_TABLE=leases", "OFFER_QUEUE_URL=https://sqs.example/1/offers", "CLUSTER=arn:cluster", "TOKEN_KEY_ID=key-1",
		"PATH=/bin", "AWS_REGION=eu-central-1"}, changes...)
}

func TestWholeEnvironmentIsRead(t *testing.T) {
	t.Parallel()
	got, err := Load(environ())
	want := Env{Outposts: "[" + least + "]", APIURL: "https://api.devin.ai", AcceptorID: " verbatim ", Table: "leases", QueueURL: "https://sqs.example/1/offers", Cluster: "arn:cluster",
		KeyID: "key-1"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = Load(environ("OUTPOSTS=", "OUTPOSTS_PARAMETERS=/outposts/one, /outposts/two"))
	want.Outposts, want.Parameters = "", []string{"/outposts/one", "/outposts/two"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestAllThatIsMissingIsToldAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Load([]string{"DEVIN_API_URL=ftp://api.devin.ai"})
	want := []string{
		"ACCEPTOR_ID is missing; give this deployment's identity, which no other deployment shares",
		"LEASE_TABLE is missing; give the name of the lease table",
		"OFFER_QUEUE_URL is missing; give the URL of the offer queue",
		"CLUSTER is missing; give the ARN of the ECS cluster",
		"TOKEN_KEY_ID is missing; give the id of the KMS key for connect tokens",
		`DEVIN_API_URL: "ftp://api.devin.ai" is no URL; give one such as https://api.devin.ai`,
		"OUTPOSTS is missing; give a JSON list of outposts, or name SSM parameters in OUTPOSTS_PARAMETERS",
	}
	if diff := cmp.Diff(want, Lines(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if Lines(nil) != nil {
		t.Error("no error has lines")
	}
}

func TestErrorsOfOutpostsStandBesideThoseOfTheEnvironment(t *testing.T) {
	t.Parallel()
	_, err := Load(environ("CLUSTER=", `OUTPOSTS=[{"outpost_id":"o1"}]`))
	want := []string{
		"CLUSTER is missing; give the ARN of the ECS cluster",
		"OUTPOSTS[0].token_secret: missing; give the id or ARN of the Secrets Manager secret that holds the account token",
		"OUTPOSTS[0].max_sessions: missing; give the most sessions to run at once (0 drains the outpost)",
		"OUTPOSTS[0].capacity: missing; name at least one capacity choice",
	}
	if diff := cmp.Diff(want, Lines(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOutpostsComeFromOnePlace(t *testing.T) {
	t.Parallel()
	_, err := Load(environ("OUTPOSTS_PARAMETERS=/outposts/one"))
	if want := []string{"OUTPOSTS and OUTPOSTS_PARAMETERS are both set; give one of them"}; !slices.Equal(Lines(err), want) {
		t.Errorf("%q", Lines(err))
	}
	_, err = Load(environ("OUTPOSTS=", "OUTPOSTS_PARAMETERS=/outposts/one,,/outposts/two"))
	if want := []string{"OUTPOSTS_PARAMETERS holds an empty name; give names of SSM parameters with commas between them"}; !slices.Equal(Lines(err), want) {
		t.Errorf("%q", Lines(err))
	}
}

func TestAccountTokenIsSentInTheClearToNobodyButThisMachine(t *testing.T) {
	t.Parallel()
	for url, fine := range map[string]bool{"https://api.devin.ai": true, "http://127.0.0.1:8080": true, "http://[::1]:8080": true, "http://localhost:8080": true,
		"http://api.devin.ai": false, "http://10.0.0.1": false, "http://localhost.example": false, "api.devin.ai": false, "https://": false, "http://%zz": false} {
		if _, err := Load(environ("DEVIN_API_URL=" + url)); (err == nil) != fine {
			t.Errorf("%s: %v", url, err)
		}
	}
}
