package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/devin-outposts/devin-outposts-aws/shared/laptop"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks/ecstest"
)

// examine runs the doctor and answers its checks as "result what: found", those that pass left out.
func (b *bundle) examine(extra []string) (complaints []string, code int) {
	b.t.Helper()
	r := b.outcome(b.command(extra, "doctor"))
	for line := range strings.Lines(steady(r.out)) {
		if fields := strings.SplitN(line, " ", 2); fields[0] == "warn" || fields[0] == "fail" {
			complaints = append(complaints, strings.TrimSpace(line))
		}
	}
	return complaints, r.code
}

func (b *bundle) variable(name string) string {
	for _, kv := range b.Env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	b.t.Fatalf("the deployment has no %s", name)
	return ""
}

// sqs is a client of the emulator.
func (b *bundle) sqs() *sqs.Client {
	return sqs.NewFromConfig(aws.Config{Region: b.variable("AWS_REGION"), BaseEndpoint: aws.String(b.variable("AWS_ENDPOINT_URL")),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
}

// deadQueues makes the queues of what could not be worked off, and answers that of the offers and the environment that names that of the events.
func (b *bundle) deadQueues() (offers string, env []string) {
	b.t.Helper()
	name := b.variable("LEASE_TABLE")
	urls := map[string]string{}
	for _, kind := range []string{"offers", "events"} {
		out, err := b.sqs().CreateQueue(b.ctx, &sqs.CreateQueueInput{QueueName: aws.String("dead-" + kind + "-" + name)})
		if err != nil {
			b.t.Fatal(err)
		}
		urls[kind] = *out.QueueUrl
	}
	policy := fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead-offers-%s","maxReceiveCount":5}`, name)
	_, err := b.sqs().SetQueueAttributes(b.ctx, &sqs.SetQueueAttributesInput{QueueUrl: aws.String(b.variable("OFFER_QUEUE_URL")), Attributes: map[string]string{"RedrivePolicy": policy}})
	if err != nil {
		b.t.Fatal(err)
	}
	return urls["offers"], []string{"EVENT_DEAD_LETTERS_URL=" + urls["events"]}
}

func TestDoctorFindsAHealthyDeploymentHealthy(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	_, env := b.deadQueues()
	if err := b.Poll(b.ctx); err != nil {
		t.Fatal(err)
	}
	r := b.outcome(b.command(env, "doctor"))
	r.succeeds(t)
	want := `RESULT OF CHECK FOUND
pass deployment configuration 1 outposts
pass deployment lease table ` + b.variable("LEASE_TABLE") + ` answers; 1 outposts ever seen
pass deployment offer queue 0 offers wait
pass deployment dead offers none
pass deployment dead events none
pass deployment token key enabled
pass deployment cluster outposts answers; 0 tasks live
pass outpost_env-demo account token read and accepted; 0 sessions in the queue
pass outpost_env-demo outpost exists Devin knows it
pass outpost_env-demo poll last listed # ago
pass outpost_env-demo slots 0 of 3 used
pass outpost_env-demo capacity every choice takes sessions
`
	if diff := cmp.Diff(want, steady(r.out)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestDoctorNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	const of = "outpost_env-demo "
	for name, c := range map[string]struct {
		broken func(b *bundle)
		env    func(b *bundle) []string
		want   []string
		code   int
	}{
		"nothing": {},
		"the account token was replaced": {
			broken: func(b *bundle) { b.Fleet.SetToken("cog_another") }, code: 1,
			want: []string{"fail " + of + "account token list the sessions of outpost outpost_env-demo (401: invalid or missing bearer token): the account token was refused: check that it is current and has the scope account.outposts.machine"}},
		"the secret is gone": {
			env: func(b *bundle) []string {
				return []string{"OUTPOSTS=" + strings.Replace(b.variable("OUTPOSTS"), `"token_secret":"`, `"token_secret":"no-`, 1)}
			}, code: 1, want: []string{"fail " + of + "account token list the sessions of outpost outpost_env-demo: read the account token: read the account token from secret no-"}},
		"Devin has no such outpost": {
			env: func(b *bundle) []string {
				return []string{"OUTPOSTS=" + strings.Replace(b.variable("OUTPOSTS"), "outpost_env-demo", "outpost_env-typo", 1)}
			}, code: 1, want: []string{
				"fail outpost_env-typo outpost exists Devin knows no such outpost under this token: correct its id in the configuration, or create it",
				"fail outpost_env-typo poll never listed this outpost: right after a deployment wait two minutes, else see the logs of poll"}},
		"this token may not list outposts": {
			broken: func(b *bundle) {
				b.Fleet.Fault(outpoststest.Fault{Op: outpoststest.OpOutposts, Kind: outpoststest.FaultStatus, Status: 403})
			}, want: []string{"warn " + of + "outpost exists not checked, the outposts cannot be listed: "}},
		"the table is gone": {
			env: func(*bundle) []string { return []string{"LEASE_TABLE=no-such-table"} }, code: 1,
			want: []string{"fail deployment lease table read outposts: ", "fail " + of + "table rows read outpost#outpost_env-demo: "}},
		"the offer queue is gone": {
			env: func(b *bundle) []string { return []string{"OFFER_QUEUE_URL=" + b.variable("OFFER_QUEUE_URL") + "-no"} }, code: 1,
			want: []string{"fail deployment offer queue read queue "}},
		"the key is gone": {
			env: func(*bundle) []string { return []string{"TOKEN_KEY_ID=11111111-2222-3333-4444-555555555555"} }, code: 1,
			want: []string{"fail deployment token key read KMS key 11111111-2222-3333-4444-555555555555: "}},
		"the cluster does not answer": {
			broken: func(b *bundle) {
				b.ECS.Inject(ecstest.Fault{Op: "ListTasks", Times: -1, Code: "ClusterNotFoundException", Message: "Cluster not found."})
			}, code: 1, want: []string{"fail deployment cluster list tasks of cluster outposts: "}},
		"poll stopped": {
			broken: func(b *bundle) {
				b.must(b.Store.Polled(b.ctx, laptop.Outpost, time.Now().Add(-4*time.Minute), time.Time{}))
			}, code: 1,
			want: []string{"fail " + of + "poll last listed # ago: see the logs of poll and its schedule"}},
		"a session waits beside free slots": {
			broken: func(b *bundle) {
				b.must(b.Store.Polled(b.ctx, laptop.Outpost, time.Now(), time.Now().Add(-6*time.Minute)))
			}, code: 1, want: []string{"fail " + of + "waiting sessions one has waited # beside 3 free slots: see the logs of claim"}},
		"a breaker is open": {
			broken: func(b *bundle) { b.trip("fargate-spot") },
			want:   []string{"warn " + of + "capacity not taking sessions: fargate-spot open (probed in #): image not found"}},
		"every breaker is open": {
			broken: func(b *bundle) { b.trip("fargate-spot"); b.trip("fargate") }, code: 1,
			want: []string{"fail " + of + "capacity no choice takes sessions: fargate-spot open (probed in #): image not found; fargate open (probed in #): image not found"}},
		"the fleet API wants to be left alone": {
			broken: func(b *bundle) { b.must(b.Store.Quiet(b.ctx, laptop.Outpost, time.Now().Add(10*time.Minute))) },
			want:   []string{"warn " + of + "account token not checked: Devin's API wants to be left alone for #, and nothing is listed, claimed or renewed until then"}},
		"the outpost drains": {
			broken: func(b *bundle) { b.must(b.Store.SetDraining(b.ctx, laptop.Outpost, true)) },
			want:   []string{"warn " + of + "slots draining, 0 still used: `outpostctl resume` takes sessions again"}},
		"the counter is wrong": {
			broken: func(b *bundle) { b.must(b.Store.CorrectSlots(b.ctx, laptop.Outpost, 0, 2)) },
			want:   []string{"warn " + of + "slots 2 used by the counter, 0 by the leases: "}},
		"an outpost left the configuration with a session": {
			broken: func(b *bundle) {
				b.must(b.Store.Note(b.ctx, "outpost_env-old"))
				b.must(b.Store.Reserve(b.ctx, session.Lease{Schema: 1, SessionID: "devin-old", OutpostID: "outpost_env-old", State: session.Reserved, Epoch: "e", Rev: 1}, 1))
			}, want: []string{"warn outpost_env-old slots 1 used, though the outpost left the configuration: its tasks run to their end; " +
				"`outpostctl drain --outpost outpost_env-old --now` stops them"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, nil)
			_, env := b.deadQueues()
			if err := b.Poll(b.ctx); err != nil {
				t.Fatal(err)
			}
			if c.broken != nil {
				c.broken(b)
			}
			if c.env != nil {
				env = append(env, c.env(b)...)
			}
			got, code := b.examine(env)
			if code != c.code || len(got) != len(c.want) {
				t.Fatalf("exit %d, want %d; complaints %q, want %q", code, c.code, got, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("complaint %q, want %q", got[i], want)
				}
			}
		})
	}
}

func TestDoctorCountsMessagesThatCouldNotBeWorkedOff(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	offers, env := b.deadQueues()
	b.must(b.Poll(b.ctx))
	_, err := b.sqs().SendMessage(b.ctx, &sqs.SendMessageInput{QueueUrl: &offers, MessageBody: aws.String("{}")})
	b.must(err)
	got, code := b.examine(env)
	if code != 0 || len(got) != 1 || !strings.HasPrefix(got[0], "warn deployment dead offers 1 messages could not be worked off; ") {
		t.Errorf("exit %d, complaints %q", code, got)
	}
}

func (b *bundle) trip(choice string) {
	b.t.Helper()
	b.must(b.Store.Trip(b.ctx, laptop.Outpost, choice, lease.Breaker{Until: time.Now().Add(10 * time.Minute), Trips: 1, Reason: "image not found"}))
}

func (b *bundle) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}
