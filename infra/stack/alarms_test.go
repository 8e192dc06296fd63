package stack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/infra/alarms"
	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

// What an alarm must read, as the functions write it: the dimensions decide whether it ever sees a value.
func TestAlarmsReadWhatTheFunctionsWrite(t *testing.T) {
	t.Parallel()
	tmpl := templates["fullest"]
	wanted := load(configurations["fullest"])
	for _, a := range alarms.All(wanted.Timeouts()) {
		ids := []string{a.Name + "Alarm"}
		if a.Own != nil {
			ids = nil
			for _, outpost := range wanted.Outposts {
				ids = append(ids, idOf(a.Name, outpost)+"Alarm")
			}
		}
		for i, id := range ids {
			alarm := tmpl.resource(t, id)
			dimensions := map[string]any{}
			for _, dimension := range alarm["Dimensions"].([]any) {
				d := dimension.(map[string]any)
				dimensions[d["Name"].(string)] = plain(d["Value"])
			}
			want := map[string]any{}
			switch {
			case a.Own != nil:
				want["OutpostId"] = wanted.Outposts[i].ID
				want["AcceptorId"] = plain(tmpl.resource(t, "Poll")["Environment"].(map[string]any)["Variables"].(map[string]any)["ACCEPTOR_ID"])
				if alarm["Namespace"] != telemetry.Namespace || alarm["Unit"] != a.Own.Unit || alarm["MetricName"] != a.Own.Name {
					t.Errorf("%s reads %v %v in %v", id, alarm["Namespace"], alarm["MetricName"], alarm["Unit"])
				}
			case a.Built.Namespace == "AWS/SQS":
				want["QueueName"] = map[string]string{alarms.Offers: "${Offers.QueueName}", alarms.DeadOffers: "${OfferDeadLetters.QueueName}", alarms.DeadEvents: "${EventDeadLetters.QueueName}"}[a.Built.Of]
			default:
				want["FunctionName"] = "${" + title(a.Built.Of) + "}"
			}
			if diff := cmp.Diff(want, dimensions); diff != "" {
				t.Errorf("%s: dimensions (-want +got):\n%s", id, diff)
			}
			missing := "notBreaching"
			if a.Silence {
				missing = "breaching"
			}
			if alarm["TreatMissingData"] != missing {
				t.Errorf("%s treats missing data as %v", id, alarm["TreatMissingData"])
			}
			if !strings.Contains(alarm["AlarmDescription"].(string), "docs/alarms.md#"+strings.ToLower(a.Name)) || len(alarm["AlarmDescription"].(string)) > 1024 {
				t.Errorf("%s: description %v", id, alarm["AlarmDescription"])
			}
		}
	}
}

func TestAlarmsAreAsManyAsChosenAndGoWhereChosen(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		alarms int
		target any
	}{
		"own-vpc": {0, nil}, "default": {10, nil}, "own-topic": {10, []any{"arn:aws:sns:eu-west-1:123456789012:mine"}}, "fullest": {13*3 + 16, []any{"${Alarms}"}},
	} {
		ids := templates[name].ofType("AWS::CloudWatch::Alarm")
		if len(ids) != want.alarms {
			t.Errorf("%s: %d alarms, want %d: %v", name, len(ids), want.alarms, ids)
		}
		for _, id := range ids {
			if diff := cmp.Diff(want.target, plain(templates[name].resource(t, id)["AlarmActions"])); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, id, diff)
			}
		}
	}
}

func TestDashboardShowsDeclaredMetricsAndFillsItsGrid(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	for _, m := range telemetry.Metrics {
		declared[m.Name] = true
	}
	var body struct {
		Widgets []struct {
			X, Y, Width, Height int
			Properties          struct {
				Title   string
				Metrics [][]any
				Query   string
			}
		}
	}
	if err := json.Unmarshal([]byte(plain(templates["fullest"].resource(t, "Dashboard")["DashboardBody"]).(string)), &body); err != nil {
		t.Fatal(err)
	}
	seen := map[[2]int]bool{}
	for _, w := range body.Widgets {
		if w.X+w.Width > 24 || seen[[2]int{w.X, w.Y}] {
			t.Errorf("%s stands at %d, %d", w.Properties.Title, w.X, w.Y)
		}
		seen[[2]int{w.X, w.Y}] = true
		if (len(w.Properties.Metrics) == 0) == (w.Properties.Query == "") {
			t.Errorf("%s shows nothing, or two things", w.Properties.Title)
		}
		for _, m := range w.Properties.Metrics {
			if m[0] == telemetry.Namespace && !declared[m[1].(string)] {
				t.Errorf("%s shows %v, which nobody writes", w.Properties.Title, m[1])
			}
		}
	}
	if len(templates["own-vpc"].ofType("AWS::CloudWatch::Dashboard")) != 0 {
		t.Error("a dashboard was made although none was wanted")
	}
}
