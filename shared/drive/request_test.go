package drive_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/config"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
)

// Every field of a capacity choice that RunTask has a word for is set, so that one that is forgotten is found.
func TestLaunchCarriesAllThatItsCapacityChoiceSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.Capacity = []config.Capacity{{
		Name: "fargate", Provider: "FARGATE", TaskDefinition: "worker", Container: "worker", Subnets: []string{"subnet-1"}, SecurityGroups: []string{"sg-1"},
		AssignPublicIP: true, PlatformVersion: "1.4.0", Exec: true, PropagateTags: true,
	}}
	w.enqueue()
	if res := w.drive(); res.Err != nil || len(w.ecs.calls) != 1 {
		t.Fatalf("%d calls, %+v", len(w.ecs.calls), res)
	}
	got, l := w.ecs.calls[0], w.lease()
	want := tasks.Launch{
		TaskDefinition: "worker", Container: "worker", Provider: "FARGATE", Subnets: []string{"subnet-1"}, SecurityGroups: []string{"sg-1"}, AssignPublicIP: true,
		PlatformVersion: "1.4.0", Exec: true, PropagateTags: true,
		OutpostID: outpost, SessionID: devin, GatewayURL: l.GatewayURL, Ciphertext: l.Ciphertext, RemoteSHA: l.RemoteSHA, AttemptID: l.AttemptID(), Deadline: l.Deadline,
		Until: got.Until,
	}
	if diff := cmp.Diff(want, got); diff != "" || l.GatewayURL == "" || l.Ciphertext == "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
