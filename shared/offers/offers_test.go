package offers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	lambda "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/devin-outposts/devin-outposts-aws/events"
	"github.com/devin-outposts/devin-outposts-aws/shared/offers"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var t0 = time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)

func list(n int) (all []events.Offer) {
	for i := range n {
		all = append(all, events.NewOffer("outpost_env-1", fmt.Sprint("devin-", i), t0))
	}
	return all
}

func entry(id, session int) types.SendMessageBatchRequestEntry {
	return types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(id)),
		MessageBody: aws.String(fmt.Sprintf(`{"version":1,"outpost_id":"outpost_env-1","session_id":"devin-%d","offered_at":"2026-02-03T10:00:00Z"}`, session))}
}

func TestOffersAreSentInWholeRequestsOfTen(t *testing.T) {
	t.Parallel()
	got, err := offers.Inputs("https://sqs.example/1/offers", list(12))
	want := []*sqs.SendMessageBatchInput{{QueueUrl: aws.String("https://sqs.example/1/offers")}, {QueueUrl: aws.String("https://sqs.example/1/offers")}}
	for i := range 12 {
		want[i/10].Entries = append(want[i/10].Entries, entry(i%10, i))
	}
	ignore := cmpopts.IgnoreUnexported(sqs.SendMessageBatchInput{}, types.SendMessageBatchRequestEntry{})
	if diff := cmp.Diff(want, got, ignore); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, call := range got {
		for _, e := range call.Entries {
			if _, err := events.DecodeOffer([]byte(*e.MessageBody)); err != nil {
				t.Errorf("%s: %v", *e.MessageBody, err)
			}
		}
	}
	if got, err := offers.Inputs("https://sqs.example/1/offers", nil); len(got) != 0 || err != nil {
		t.Errorf("without offers: %v, %v", got, err)
	}
}

// queue answers the first call with an error and the second with a refusal.
type queue struct{ calls []*sqs.SendMessageBatchInput }

func (q *queue) SendMessageBatch(_ context.Context, in *sqs.SendMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	q.calls = append(q.calls, in)
	switch len(q.calls) {
	case 1:
		return nil, errors.New("no answer")
	case 2:
		return &sqs.SendMessageBatchOutput{Failed: []types.BatchResultErrorEntry{{Code: aws.String("InternalError"), Message: aws.String("try again")}}}, nil
	}
	return &sqs.SendMessageBatchOutput{}, nil
}

func TestOffersThatAreRefusedKeepNoOthersBackAndAreAllTold(t *testing.T) {
	t.Parallel()
	q := &queue{}
	err := offers.Queue{API: q, URL: "https://sqs.example/1/offers"}.Send(t.Context(), list(30))
	if len(q.calls) != 3 || err == nil || !strings.Contains(err.Error(), "send 10 offers: no answer") || !strings.Contains(err.Error(), "InternalError: try again") {
		t.Errorf("%d calls: %v", len(q.calls), err)
	}
	if err := (offers.Queue{API: q, URL: "https://sqs.example/1/offers"}).Send(t.Context(), list(1)); err != nil {
		t.Errorf("%v", err)
	}
}

func batch(ids ...string) (b lambda.SQSEvent) {
	for _, id := range ids {
		b.Records = append(b.Records, lambda.SQSMessage{MessageId: id})
	}
	return b
}

func oneByOne(n int, do func(int)) {
	for i := range n {
		do(i)
	}
}

func allAtOnce(n int, do func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

func failures(ids ...string) lambda.SQSEventResponse {
	r := lambda.SQSEventResponse{BatchItemFailures: []lambda.SQSBatchItemFailure{}}
	for _, id := range ids {
		r.BatchItemFailures = append(r.BatchItemFailures, lambda.SQSBatchItemFailure{ItemIdentifier: id})
	}
	return r
}

func TestErrorOrPanicOfOneMessageLeavesTheOthersAsTheyAre(t *testing.T) {
	t.Parallel()
	handle := func(m lambda.SQSMessage) error {
		switch m.MessageId {
		case "bad":
			return errors.New("no answer")
		case "worse":
			panic("nil map")
		}
		return nil
	}
	for _, each := range []func(int, func(int)){oneByOne, allAtOnce} {
		told := map[string]string{}
		got := offers.Each(batch("a", "bad", "b", "worse", "c"), each, handle, func(m lambda.SQSMessage, err error) { told[m.MessageId] = err.Error() })
		if diff := cmp.Diff(failures("bad", "worse"), got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]string{"bad": "no answer", "worse": "panic: nil map"}, told); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestMessageThatWasNotReachedComesBack(t *testing.T) {
	t.Parallel()
	half := func(n int, do func(int)) { oneByOne(n/2, do) }
	got := offers.Each(batch("a", "b", "c", "d"), half, func(lambda.SQSMessage) error { return nil }, func(lambda.SQSMessage, error) {})
	if diff := cmp.Diff(failures("c", "d"), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBatchThatWasDoneAnswersAnEmptyList(t *testing.T) {
	t.Parallel()
	got := offers.Each(batch("a"), oneByOne, func(lambda.SQSMessage) error { return nil }, func(lambda.SQSMessage, error) { t.Error("told of a failure") })
	if diff := cmp.Diff(failures(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
