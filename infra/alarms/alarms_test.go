package alarms

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/telemetry"
)

var timeouts = map[string]int{"poll": 170, "claim": 60, "observe": 60, "sweep": 58}

// silent are the metrics that are reported even when nothing happens: by poll itself, and by AWS for a function that a schedule starts each minute. Only the
// lack of these can be a fault.
var silent = []string{"PollSucceeded", "Invocations"}

func TestAlarmsReadDeclaredMetricsOnly(t *testing.T) {
	t.Parallel()
	built := map[string][]string{"AWS/Lambda": {"Invocations", "Errors", "Throttles", "Duration"}, "AWS/SQS": {"ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"}}
	for _, a := range All(timeouts) {
		switch {
		case (a.Own == nil) == (a.Built == nil):
			t.Errorf("%s: reads not exactly one metric", a.Name)
		case a.Own != nil && !slices.Contains(telemetry.Metrics, *a.Own):
			t.Errorf("%s: metric %s is not declared in shared/telemetry", a.Name, a.Own.Name)
		case a.Built != nil && !slices.Contains(built[a.Built.Namespace], a.Built.Name):
			t.Errorf("%s: AWS has no metric %s %s", a.Name, a.Built.Namespace, a.Built.Name)
		}
	}
}

func TestNoAlarmSitsSilentWhereSilenceIsTheFault(t *testing.T) {
	t.Parallel()
	watched := map[string]bool{}
	for _, a := range All(timeouts) {
		metric := ""
		if a.Own != nil {
			metric = a.Own.Name
		} else {
			metric = a.Built.Name
		}
		if a.Silence {
			watched[metric] = true
			if !slices.Contains(silent, metric) {
				t.Errorf("%s: rings when %s is missing, but that is not reported while nothing happens", a.Name, metric)
			}
		}
	}
	for _, metric := range silent {
		if !watched[metric] {
			t.Errorf("nothing rings when %s stops", metric)
		}
	}
}

func TestEveryFaultThatTheFunctionsCountHasAnAlarm(t *testing.T) {
	t.Parallel()
	// What is counted for the dashboard only: the ordinary course of things.
	ordinary := []string{
		"SessionsOffered", "EntriesSkipped", "OffersMalformed", "OffersAtCapacity", "ClaimsLost", "SessionsClaimed", "PickupSeconds", "TasksLaunched", "StartSeconds",
		"ConnectSeconds", "SessionsCompleted", "SessionsSuspended", "SessionsLost", "SessionsRefused", "SessionsDrained",
	}
	read := map[string]bool{}
	for _, a := range All(timeouts) {
		if a.Own != nil {
			read[a.Own.Name] = true
		}
	}
	for _, m := range telemetry.Metrics {
		if read[m.Name] == slices.Contains(ordinary, m.Name) {
			t.Errorf("metric %s: read by an alarm is %v; either give it one or list it as ordinary", m.Name, read[m.Name])
		}
	}
}

func TestEveryAlarmSaysWhatItMeansWhereToLookAndWhatToDo(t *testing.T) {
	t.Parallel()
	book := Runbook(All(timeouts))
	seen := map[string]bool{}
	for _, a := range All(timeouts) {
		if seen[a.Name] || a.Means == "" || a.Look == "" || a.Do == "" {
			t.Errorf("%s: doubled, or its entry has no means, look or do", a.Name)
		}
		seen[a.Name] = true
		if !strings.Contains(book, "\n## "+a.Name+"\n") {
			t.Errorf("%s: has no entry in the runbook", a.Name)
		}
	}
}

// sources is the code that runs in the functions.
func sources(t *testing.T) string {
	t.Helper()
	var source strings.Builder
	for _, root := range []string{"../../shared", "../../functions"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			source.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return source.String()
}

func TestEveryDeclaredMetricIsReportedByTheFunctions(t *testing.T) {
	t.Parallel()
	source := sources(t)
	var declared []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+)\s+= Metric\{"(\w+)"`).FindAllStringSubmatch(source, -1) {
		declared = append(declared, m[2])
		if !regexp.MustCompile(`\btelemetry\.` + m[1] + `\b`).MatchString(source) {
			t.Errorf("metric %s is declared, but nobody reports it", m[2])
		}
	}
	var listed []string
	for _, m := range telemetry.Metrics {
		listed = append(listed, m.Name)
	}
	if diff := cmp.Diff(listed, declared); diff != "" {
		t.Errorf("metrics (-listed +declared):\n%s", diff)
	}
}

func TestTheRunbookQuotesLogLinesThatAreWritten(t *testing.T) {
	t.Parallel()
	// The lines of a session's changes are put together from its state; Lambda writes its own.
	written := sources(t) + `"session ended" "session stopping" "Task timed out"`
	quoted := regexp.MustCompile("`([a-z]+ [^`]*|Task timed out)`")
	n := 0
	for _, a := range All(timeouts) {
		for _, quote := range quoted.FindAllStringSubmatch(a.Look+" "+a.Do, -1) {
			if strings.HasPrefix(quote[1], "aws ") {
				continue
			}
			n++
			if !strings.Contains(written, `"`+quote[1]) {
				t.Errorf("%s: nobody writes %q", a.Name, quote[1])
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d quotations were found", n)
	}
}

func TestAFewEssentialAlarmsStayWithinTheFreeTen(t *testing.T) {
	t.Parallel()
	n := 0
	for _, a := range All(timeouts) {
		if a.Essential {
			n++
		}
	}
	if n > 10 {
		t.Errorf("%d essential alarms for one outpost; an account has ten free", n)
	}
}
