package events_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

func TestSchemaKnowsEveryStateAndOutcomeOfALease(t *testing.T) {
	t.Parallel()
	text, err := events.Schemas.ReadFile("schemas/state_change.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("state_change.json", doc); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile("state_change.json")
	from := session.None
	for _, to := range []session.State{session.Reserved, session.Claimed, session.Launching, session.Running, session.Stopping, session.Ended} {
		for _, outcome := range []session.Outcome{
			session.Undecided, session.Completed, session.Suspended, session.Lost, session.GaveUp, session.Refused, session.Drained,
		} {
			text, err := json.Marshal(events.StateChange{
				Version: events.StateChangeVersion, ID: "devin-1/e/1", OutpostID: "outpost_env-1", SessionID: "devin-1",
				From: string(from), To: string(to), Outcome: string(outcome), At: time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC),
			})
			if err != nil {
				t.Fatal(err)
			}
			doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Errorf("%s to %s, %s: %v", from, to, outcome, err)
			}
		}
		from = to
	}
}
