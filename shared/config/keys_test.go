package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeysAreMatchedExactlyAndStandOnce(t *testing.T) {
	t.Parallel()
	const (
		ofOutpost  = "; the keys are outpost_id, token_secret, max_sessions, dispatch, max_failures, max_session_hours, network_policy, capacity"
		ofCapacity = "; the keys are name, provider, task_definition, container, subnets, security_groups, assign_public_ip, platform_version, exec, propagate_tags"
	)
	for _, tc := range []struct {
		old, new string
		want     []string
	}{
		{`"max_sessions"`, `"MAX_SESSIONS"`, []string{`OUTPOSTS[0]: unknown key "MAX_SESSIONS"` + ofOutpost}},
		{`"max_sessions"`, `"max_\u017fessions"`, []string{`OUTPOSTS[0]: unknown key "max_ſessions"` + ofOutpost}},
		{`"max_sessions":5`, `"max_sessions":5,"Max_Sessions":6`, []string{`OUTPOSTS[0]: unknown key "Max_Sessions"` + ofOutpost}},
		{`"max_sessions":5`, `"max_sessions":5,"max_sessions":5`, []string{`OUTPOSTS[0]: key "max_sessions" stands twice; give it once`}},
		{`"max_sessions":5`, `"max_sessions":5,"max_\u0073essions":6`, []string{`OUTPOSTS[0]: key "max_sessions" stands twice; give it once`}},
		{`"name"`, `"Name"`, []string{`OUTPOSTS[0].capacity[0]: unknown key "Name"` + ofCapacity}},
		{`"name":"spot"`, `"name":"spot","name":"spot","":{}`, []string{`OUTPOSTS[0].capacity[0]: key "name" stands twice; give it once`,
			`OUTPOSTS[0].capacity[0]: unknown key ""` + ofCapacity}},
		{`"max_sessions":5,`, `"max_sessions":-1,"capacity":[{"subnet":1}],`, []string{`OUTPOSTS[0]: key "capacity" stands twice; give it once`,
			`OUTPOSTS[0].capacity[0]: unknown key "subnet"` + ofCapacity, "OUTPOSTS[0].max_sessions: -1; give a whole number from 0 to 10000"}},
		{`"max_sessions":5`, `"max_sessions":[],"x":{"y":{}}`, []string{`OUTPOSTS[0]: unknown key "x"` + ofOutpost,
			"OUTPOSTS[0]: json: cannot unmarshal array into Go struct field written.max_sessions of type int"}},
	} {
		_, err := ParseOutposts("OUTPOSTS", "["+strings.Replace(least, tc.old, tc.new, 1)+"]")
		if diff := cmp.Diff(tc.want, Lines(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.new, diff)
		}
	}
}
