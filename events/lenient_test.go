package events

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// strangeFields are fields of an event's detail in a form that is not theirs, with what is read of them.
var strangeFields = map[string]Task{
	`"createdAt":"yesterday","startedAt":{},"stoppedAt":true`:                      {},
	`"createdAt":1770112800,"startedAt":"1770112800000","stoppedAt":1770112800.25`: {CreatedAt: ptr(sampleTime), StartedAt: ptr(sampleTime), StoppedAt: ptr(sampleTime.Add(time.Second / 4))},
	`"version":"7"`:   {Version: 7},
	`"version":7.0`:   {Version: 7},
	`"version":"7.5"`: {},
	`"version":[7]`:   {},
	`"clusterArn":1,"taskDefinitionArn":[],"group":{},"startedBy":true,"desiredStatus":2,"capacityProviderName":3,"stopCode":4,"stoppedReason":5`: {},
	`"containers":"none","overrides":[]`:                             {},
	`"containers":[{"name":"worker","exitCode":"0","reason":7}]`:     {Containers: []Container{{Name: "worker"}}},
	`"containers":[{"name":"worker","exitCode":0.5}]`:                {Containers: []Container{{Name: "worker"}}},
	`"containers":[{"name":"worker","exitCode":{"code":0}}]`:         {Containers: []Container{{Name: "worker"}}},
	`"containers":[{"name":7,"exitCode":12,"lastStatus":"STOPPED"}]`: {Containers: []Container{{LastStatus: "STOPPED", ExitCode: ptr(int32(12))}}},
	`"overrides":{"containerOverrides":[{"name":"worker","environment":[{"name":"A","value":1},{"name":"B","value":"b"}]}]},"startedBy":"devin-1"`: {StartedBy: "devin-1",
		Overrides: Overrides{Containers: []ContainerOverride{{Name: "worker", Environment: []Variable{{Name: "A"}, {Name: "B", Value: "b"}}}}}},
}

func ptr[T any](v T) *T { return &v }

func TestFieldsOfTypesNotTheirOwnAreAbsentAndSpoilNothing(t *testing.T) {
	t.Parallel()
	for field, want := range strangeFields {
		for _, event := range []string{
			`{"source":"aws.ecs","detail-type":"ECS Task State Change","detail":{"taskArn":"a","lastStatus":"STOPPED",` + field + `}}`,
			`{"detail":{` + field + `,"lastStatus":"STOPPED","taskArn":"a"},"detail-type":"ECS Task State Change","source":"aws.ecs"}`,
		} {
			got, err := DecodeTaskStateChange([]byte(event))
			want.TaskARN, want.LastStatus = "a", "STOPPED"
			if diff := cmp.Diff(TaskStateChange{Source: TaskSource, DetailType: TaskDetailType, Detail: want}, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", event, err, diff)
			}
		}
	}
}

func TestEnvelopeInAStrangeFormSpoilsNothing(t *testing.T) {
	t.Parallel()
	for field, at := range map[string]time.Time{`"time":"soon"`: {}, `"time":1770112800`: sampleTime, `"time":"2026-02-03T11:00:00+01:00"`: sampleTime, `"time":null,"id":7,"account":123456789012,"region":[]`: {}} {
		got, err := DecodeTaskStateChange([]byte(`{` + field + `,"source":"aws.ecs","detail-type":"ECS Task State Change","detail":{"taskArn":"a","lastStatus":"STOPPED"}}`))
		want := TaskStateChange{Source: TaskSource, DetailType: TaskDetailType, Time: at, Detail: Task{TaskARN: "a", LastStatus: "STOPPED"}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", field, err, diff)
		}
	}
}

func TestInstantsAndVersionsAreReadInEveryFormOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`1770112800`, `1770112800.0`, `1.7701128e9`, `1770112800000`, `"1770112800"`, `"1770112800000"`, `"2026-02-03T10:00:00Z"`, `"2026-02-03T12:00:00.000+02:00"`} {
		if got := instant(json.RawMessage(raw)); got == nil || !got.Equal(sampleTime) {
			t.Errorf("%s is %v", raw, got)
		}
	}
	for _, raw := range []string{``, `null`, `""`, `"soon"`, `0`, `-5`, `"-5"`, `1e300`, `1e400`, `"1e300"`, `"Infinity"`, `{}`, `[1]`, `true`, `"2026-02-03"`, `"2026-02-03 10:00:00"`,
		`"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59-01:00"`} {
		if got := instant(json.RawMessage(raw)); got != nil {
			t.Errorf("%s is %v", raw, got)
		}
	}
	for raw, want := range map[string]int64{`7`: 7, `"7"`: 7, `7.0`: 7, `"7.0"`: 7, `7e0`: 7, fmt.Sprint(1<<62 + 1): 1<<62 + 1, `0`: 0, `-7`: 0, `"-7"`: 0, `7.5`: 0, `"x"`: 0, `1e300`: 0, `1e400`: 0,
		`null`: 0, ``: 0, `[7]`: 0, `true`: 0} {
		if got := whole(json.RawMessage(raw)); got != want {
			t.Errorf("version %s is %d, want %d", raw, got, want)
		}
	}
}
