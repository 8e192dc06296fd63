package events

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var sampleTime = time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	text, err := Samples.ReadFile("samples/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOfferIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	want := NewOffer("outpost_env-1", "devin-1", sampleTime)
	got, err := DecodeOffer(sample(t, "offer"))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the sample: %v (-want +got):\n%s", err, diff)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err = DecodeOffer(text)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("written and read: %v (-want +got):\n%s", err, diff)
	}
}

func TestBadOffersSayWhatIsWrongAndRepeatNothingOfTheBody(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``:                              "it is not JSON (at byte 0)",
		`[1]`:                           "it is not a JSON object",
		`{"version":1,"outpost_id":"o"`: "it is not JSON (at byte 29)",
		`{"version":1,"outpost_id":"o","session_id":"s","offered_at":"2026-02-03T10:00:00Z"} cog_secret`: "it is not JSON (at byte 85)",
		`{"outpost_id":"o","session_id":"s","offered_at":"2026-02-03T10:00:00Z"}`:                        "it has no version",
		`{"version":"cog_secret"}`: "version should be a int",
		`{"version":1,"session_id":"s","offered_at":"2026-02-03T10:00:00Z"}`:                "outpost_id is missing",
		`{"version":1,"outpost_id":"o","offered_at":"2026-02-03T10:00:00Z"}`:                "session_id is missing",
		`{"version":1,"outpost_id":"o","session_id":"s"}`:                                   "offered_at is missing",
		`{"version":1,"outpost_id":"o","session_id":"s","offered_at":"cog_secret"}`:         "a time is not RFC 3339",
		`{"version":1,"outpost_id":7,"session_id":"s","offered_at":"2026-02-03T10:00:00Z"}`: "outpost_id should be a string",
	} {
		_, err := DecodeOffer([]byte(body))
		if !errors.Is(err, ErrMalformed) || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "cog_") {
			t.Errorf("%s: %v, want … %s", body, err, want)
		}
	}
	_, err := DecodeOffer([]byte(`{"version":2,"offers":[]}`))
	if want := "read offer: message of another version: it is of version 2, this release reads version 1"; !errors.Is(err, ErrVersion) || err.Error() != want {
		t.Errorf("another version: %v", err)
	}
}

func TestOfferWithAFieldWeDoNotKnowIsRead(t *testing.T) {
	t.Parallel()
	got, err := DecodeOffer([]byte(`{"version":1,"outpost_id":"o","session_id":"s","offered_at":"2026-02-03T10:00:00Z","hint":{"a":1}}`))
	if diff := cmp.Diff(NewOffer("o", "s", sampleTime), got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestTaskSamplesAreReadWhole(t *testing.T) {
	t.Parallel()
	at := func(text string) *time.Time {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return &when
	}
	got, err := DecodeTaskStateChange(sample(t, "task_out_of_memory"))
	if err != nil {
		t.Fatal(err)
	}
	zero := int32(0)
	want := TaskStateChange{
		ID: "105f6bb1-4da6-c630-4965-35383018cba6", DetailType: TaskDetailType, Source: TaskSource, Account: "123456789012", Region: "eu-central-1",
		Time: *at("2026-02-03T11:30:01Z"),
		Detail: Task{
			ClusterARN:        "arn:aws:ecs:eu-central-1:123456789012:cluster/outposts",
			TaskARN:           "arn:aws:ecs:eu-central-1:123456789012:task/outposts/0f3c2b1a09f84e7d8c6b5a4938271605",
			TaskDefinitionARN: "arn:aws:ecs:eu-central-1:123456789012:task-definition/outpost-worker:7",
			Group:             "family:outpost-worker", StartedBy: "devin-1", LastStatus: "STOPPED", DesiredStatus: "STOPPED", CapacityProvider: "FARGATE_SPOT", Version: 7,
			CreatedAt: at("2026-02-03T10:00:08.331Z"), StartedAt: at("2026-02-03T10:00:43.900Z"), StoppedAt: at("2026-02-03T11:30:01.224Z"),
			StopCode: "EssentialContainerExited", StoppedReason: "Essential container in task exited",
			Containers: []Container{{Name: "worker", LastStatus: "STOPPED", ExitCode: &zero, Reason: "OutOfMemoryError: Container killed due to memory usage"}},
			Overrides: Overrides{Containers: []ContainerOverride{{Name: "worker", Environment: []Variable{
				{"OUTPOST_ID", "outpost_env-1"}, {"OUTPOST_SESSION_ID", "devin-1"}, {"OUTPOST_GATEWAY_URL", "wss://gateway.example/connect"},
				{"OUTPOST_CONNECT_TOKEN_CIPHERTEXT", "c2FtcGxlIGNpcGhlcnRleHQ="}, {"OUTPOST_REMOTE_SHA", "0123456789"},
				{"OUTPOST_ATTEMPT_ID", "8f14e45fceea167a5a36dedd4bea2543f3e2a1b0"}, {"OUTPOST_DEADLINE", "2026-02-04T10:00:00Z"},
			}}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	names, err := fs.Glob(Samples, "samples/task_*.json")
	if err != nil || len(names) != 6 {
		t.Fatalf("samples: %v, %v", names, err)
	}
	for _, name := range names {
		text, err := Samples.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeTaskStateChange(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAbsentExitCodeIsNotZero(t *testing.T) {
	t.Parallel()
	e, err := DecodeTaskStateChange([]byte(`{"source":"aws.ecs","detail-type":"ECS Task State Change","detail":{"taskArn":"a","lastStatus":"STOPPED","containers":[{"name":"worker"}]}}`))
	if err != nil || len(e.Detail.Containers) != 1 || e.Detail.Containers[0].ExitCode != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestEventsThatAreNotTaskStateChangesAreRefused(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]string{
		`null`: "its source or detail-type is another's",
		`[1]`:  "it is not a JSON object",
		`{"source":"aws.ecs","detail-type":"ECS Task State Change","detail":{"taskArn":"a","lastStatus":"STOPPED"}`:  "it is not JSON (at byte 105)",
		`{"source":7,"detail-type":"ECS Task State Change","detail":{"taskArn":"a","lastStatus":"STOPPED"}}`:         "its source or detail-type is another's",
		`{"source":"aws.ec2","detail-type":"ECS Task State Change","detail":{"taskArn":"a","lastStatus":"STOPPED"}}`: "its source or detail-type is another's",
		`{"source":"aws.ecs","detail-type":"ECS Task State Change","detail":{"lastStatus":"STOPPED"}}`:               "taskArn is missing",
		`{"source":"aws.ecs","detail-type":"ECS Task State Change","detail":{"taskArn":"a"}}`:                        "lastStatus is missing",
		`{"source":"aws.ecs","detail-type":"ECS Task State Change","detail":"cog_secret"}`:                           "taskArn is missing",
		`{"source":"aws.ecs","detail-type":"ECS Task State Change","detail":{"taskArn":7,"lastStatus":"STOPPED"}}`:   "taskArn is missing",
		`{"source":"aws.ecs","detail-type":"ECS Task State Change","detail":{"taskArn":"a","lastStatus":{}}}`:        "lastStatus is missing",
	} {
		if _, err := DecodeTaskStateChange([]byte(event)); !errors.Is(err, ErrMalformed) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want … %s", event, err, want)
		}
	}
}

func FuzzDecodeOffer(f *testing.F) {
	f.Add(sample(f, "offer"))
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`{"version":1,"outpost_id":null,"session_id":"s","offered_at":"0001-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := DecodeOffer(body)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrVersion) {
				t.Fatalf("an error without a kind: %v", err)
			}
			return
		}
		if o.Version != OfferVersion || o.OutpostID == "" || o.SessionID == "" || o.OfferedAt.IsZero() {
			t.Fatalf("incomplete and yet accepted: %+v", o)
		}
		text, err := json.Marshal(o)
		if err != nil {
			return // such as a zone offset that RFC 3339 cannot hold
		}
		again, err := DecodeOffer(text)
		if err != nil || !again.OfferedAt.Equal(o.OfferedAt) || again.SessionID != o.SessionID || again.OutpostID != o.OutpostID {
			t.Fatalf("%+v became %+v, %v", o, again, err)
		}
	})
}

func FuzzDecodeTaskStateChange(f *testing.F) {
	names, err := fs.Glob(Samples, "samples/task_*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		text, err := Samples.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, field := range slices.Sorted(maps.Keys(strangeFields)) {
		f.Add([]byte(`{"source":"aws.ecs","detail-type":"ECS Task State Change","detail":{"taskArn":"a","lastStatus":"STOPPED",` + field + `}}`))
	}
	f.Add([]byte(`{"source":"aws.ecs","detail-type":"ECS Task State Change","time":1770112800000,"id":7,"detail":{"taskArn":"a","lastStatus":"STOPPED"}}`))
	f.Fuzz(func(t *testing.T, event []byte) {
		e, err := DecodeTaskStateChange(event)
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatalf("an error without a kind: %v", err)
		}
		if err != nil {
			return
		}
		if e.Detail.TaskARN == "" || e.Detail.LastStatus == "" || e.Detail.Version < 0 {
			t.Fatalf("incomplete and yet accepted: %+v", e)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := DecodeTaskStateChange(text)
		if diff := cmp.Diff(e, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("written and read again: %v (-want +got):\n%s", err, diff)
		}
	})
}
