package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const least = `{"outpost_id":"o1","token_secret":"s1","max_sessions":5,"capacity":[{"name":"spot","provider":"FARGATE_SPOT","task_definition":"worker:7","container":"worker"}]}`

func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	got, err := ParseOutposts("OUTPOSTS", "["+least+"]")
	want := []Outpost{{ID: "o1", TokenSecret: "s1", MaxSessions: 5, Watch: true, MaxFailures: 3, MaxAge: 24 * time.Hour, RefusePolicies: true,
		Capacity: []Capacity{{Name: "spot", Provider: "FARGATE_SPOT", TaskDefinition: "worker:7", Container: "worker"}}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestEverySettingIsRead(t *testing.T) {
	t.Parallel()
	got, err := ParseOutposts("OUTPOSTS", `[{"outpost_id":"o1","token_secret":"s1","max_sessions":0,"dispatch":"poll","max_failures":5,"max_session_hours":1.5,"network_policy":"ignore",
		"capacity":[{"name":"a","provider":"p","task_definition":"arn:aws:ecs:eu-central-1:123456789012:task-definition/worker:7","container":"c","subnets":["subnet-1"],"security_groups":["sg-1"],
		"assign_public_ip":true},{"name":"b","provider":"FARGATE","task_definition":"worker","container":"c","platform_version":"1.4.0","exec":true,"propagate_tags":true}]}]`)
	want := []Outpost{{ID: "o1", TokenSecret: "s1", MaxFailures: 5, MaxAge: 90 * time.Minute, Capacity: []Capacity{{Name: "a", Provider: "p",
		TaskDefinition: "arn:aws:ecs:eu-central-1:123456789012:task-definition/worker:7", Container: "c", Subnets: []string{"subnet-1"}, SecurityGroups: []string{"sg-1"}, AssignPublicIP: true},
		{Name: "b", Provider: "FARGATE", TaskDefinition: "worker", Container: "c", PlatformVersion: "1.4.0", Exec: true, PropagateTags: true}}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestAllErrorsAreToldAtOnceEachWithKeyValueAndWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	_, err := ParseOutposts("OUTPOSTS", `[{"max_sessions":-1,"dispatch":"push","max_failures":0,"max_session_hours":-2,"network_policy":"enforce"},
		{"outpost_id":"o1","token_secret":"s1","max_sessions":1,"capacity":[{"name":"a","provider":"p","task_definition":"d","container":"c"},{"name":"a","security_groups":["sg-1"]}]},
		{"outpost_id":"o1","token_secret":"s1","capacity":[{"name":"a","provider":"p","task_definition":"d","container":"c","platform_version":"LATEST"},
			{"name":"b","provider":"FARGATE","task_definition":"d","container":"c","platform_version":"newest"}]}]`)
	want := []string{
		"OUTPOSTS[0].outpost_id: missing; give the outpost's id, such as outpost_env-…",
		"OUTPOSTS[0].token_secret: missing; give the id or ARN of the Secrets Manager secret that holds the account token",
		"OUTPOSTS[0].max_sessions: -1; give a whole number from 0 to 10000",
		"OUTPOSTS[0].max_failures: 0; give a whole number from 1 to 100",
		"OUTPOSTS[0].max_session_hours: -2; give a number above 0, at most 8760",
		`OUTPOSTS[0].dispatch: "push"; give one of watch, poll`,
		`OUTPOSTS[0].network_policy: "enforce"; give one of refuse, ignore`,
		"OUTPOSTS[0].capacity: missing; name at least one capacity choice",
		"OUTPOSTS[1].capacity[1].provider: missing",
		"OUTPOSTS[1].capacity[1].task_definition: missing",
		"OUTPOSTS[1].capacity[1].container: missing",
		`OUTPOSTS[1].capacity[1].name: "a" stands twice; give each choice a name of its own`,
		"OUTPOSTS[1].capacity[1].subnets: empty, which means no network configuration; then security_groups and assign_public_ip must be left out",
		"OUTPOSTS[2].max_sessions: missing; give the most sessions to run at once (0 drains the outpost)",
		`OUTPOSTS[2].capacity[0].platform_version: "LATEST"; only Fargate has one, so leave it out for provider "p"`,
		`OUTPOSTS[2].capacity[1].platform_version: "newest"; give LATEST or a number such as 1.4.0`,
		`OUTPOSTS: outpost_id "o1" stands twice; name each outpost once`,
	}
	if diff := cmp.Diff(want, Lines(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsNoListOfOutpostsIsAnError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                       "not a JSON list of outposts",
		`{}`:                                     "not a JSON list of outposts",
		`[` + least + `] x`:                      "not a JSON list of outposts",
		`[]`:                                     "the list is empty",
		`null`:                                   "the list is empty",
		`[7]`:                                    "OUTPOSTS[0]",
		`[null]`:                                 "OUTPOSTS[0].outpost_id: missing",
		`[{"max_session": 3}]`:                   `OUTPOSTS[0]: unknown key "max_session"; the keys are outpost_id, token_secret, max_sessions, dispatch, max_failures, max_session_hours, network_policy, capacity`,
		`[{"max_sessions":"3"}`:                  "not a JSON list of outposts",
		`[{"max_sessions":"3"}]`:                 "cannot unmarshal string into Go struct field",
		`[{"max_sessions":1.5}]`:                 "cannot unmarshal number",
		`[{"max_session_hours":1e300}]`:          "max_session_hours: 1e+300",
		`[{"max_session_hours":1e-20}]`:          "max_session_hours: 1e-20",
		`[{"capacity":[{"launch_type":"EC2"}]}]`: `OUTPOSTS[0].capacity[0]: unknown key "launch_type"; the keys are name, provider, task_definition, container, subnets, security_groups, assign_public_ip, platform_version, exec, propagate_tags`,
	} {
		if _, err := ParseOutposts("OUTPOSTS", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want … %s", text, err, want)
		}
	}
}

func TestTokenInThePlaceOfItsSecretIsRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	_, err := ParseOutposts("OUTPOSTS", `[`+strings.Replace(least, `"s1"`, `"cog_very_secret"`, 1)+`]`)
	if err == nil || strings.Contains(err.Error(), "very") || !strings.Contains(err.Error(), "looks like the account token") {
		t.Errorf("%v", err)
	}
	_, err = ParseOutposts("OUTPOSTS", `[`+strings.Replace(least, `"token_secret"`, `"token":"cog_very_secret","token_secret"`, 1)+`]`)
	if err == nil || strings.Contains(err.Error(), "very") {
		t.Errorf("%v", err)
	}
}

func TestCapacityIsFoundByItsNameAndTheFirstStandsInForOneThatLeft(t *testing.T) {
	t.Parallel()
	o := Outpost{Capacity: []Capacity{{Name: "a"}, {Name: "b"}}}
	if o.Find("b").Name != "b" || o.Find("gone").Name != "a" {
		t.Errorf("%+v, %+v", o.Find("b"), o.Find("gone"))
	}
}

func TestOutpostWithoutSlotsIsDraining(t *testing.T) {
	t.Parallel()
	o := Outpost{MaxSessions: 0, MaxFailures: 3, MaxAge: time.Hour, Capacity: []Capacity{{Name: "a"}}}
	if got := o.Terms("acceptor"); !got.Known || !got.Draining || got.AcceptorID != "acceptor" || len(got.Capacity) != 1 {
		t.Errorf("%+v", got)
	}
	o.MaxSessions = 1
	if o.Terms("acceptor").Draining {
		t.Error("an outpost with a slot is draining")
	}
}

// What is read is either refused, or something that the functions can serve.
func FuzzParseOutposts(f *testing.F) {
	f.Add("[" + least + "]")
	f.Add(`[{"outpost_id":"o1","token_secret":"s1","max_sessions":0,"dispatch":"poll","max_failures":5,"max_session_hours":1e-12,"network_policy":"ignore","capacity":[{"name":"a","subnets":null}]}]`)
	f.Add("[" + least + "," + least + "]")
	f.Add(`[{"cog_a":"cog_b","dispatch":"cog_c","MAX_SESSIONS":1,"capacity":[{"name":"cog_d","name":"cog_d"}]}]`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseOutposts("OUTPOSTS", text)
		if err != nil {
			if len(Lines(err)) == 0 {
				t.Error("an error without a line")
			}
			if token.MatchString(err.Error()) {
				t.Errorf("an error with a token: %v", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, o := range list {
			if o.ID == "" || seen[o.ID] || o.TokenSecret == "" || o.MaxSessions < 0 || o.MaxFailures < 1 || o.MaxAge <= 0 || len(o.Capacity) == 0 {
				t.Errorf("%+v", o)
			}
			seen[o.ID] = true
			for _, c := range o.Capacity {
				if c.Name == "" || c.Provider == "" || c.TaskDefinition == "" || c.Container == "" || o.Find(c.Name).Name != c.Name {
					t.Errorf("%+v", c)
				}
			}
		}
		if len(list) == 0 {
			t.Error("no outpost, and no error")
		}
	})
}

func TestBoundsAreAllowedAndNothingBeyond(t *testing.T) {
	t.Parallel()
	for settings, fine := range map[string]bool{
		`"max_sessions":10000`: true, `"max_sessions":10001`: false, `"max_sessions":0`: true,
		`"max_sessions":1,"max_failures":100`: true, `"max_sessions":1,"max_failures":101`: false, `"max_sessions":1,"max_failures":1`: true,
		`"max_sessions":1,"max_session_hours":8760`: true, `"max_sessions":1,"max_session_hours":8760.5`: false, `"max_sessions":1,"max_session_hours":0.001`: true,
		`"max_sessions":1,"max_session_hours":0`: false,
	} {
		if _, err := ParseOutposts("OUTPOSTS", "["+strings.Replace(least, `"max_sessions":5`, settings, 1)+"]"); (err == nil) != fine {
			t.Errorf("%s: %v", settings, err)
		}
	}
}
