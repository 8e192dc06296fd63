package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
)

// Counter implements [Store].
func (d *Dynamo) Counter(ctx context.Context, outpostID string) (Counter, error) {
	row, err := d.item(ctx, outpostKey(outpostID))
	if err != nil {
		return Counter{}, err
	}
	var it struct {
		SlotsUsed int  `dynamodbav:"slots_used"`
		Draining  bool `dynamodbav:"draining"`
	}
	if err := attributevalue.UnmarshalMap(row, &it); err != nil {
		return Counter{}, fmt.Errorf("read slots of outpost %s: %w", outpostID, err)
	}
	return Counter{it.SlotsUsed, it.Draining}, nil
}

// SetDraining implements [Store].
func (d *Dynamo) SetDraining(ctx context.Context, outpostID string, draining bool) error {
	return d.set(ctx, outpostKey(outpostID), "draining", &types.AttributeValueMemberBOOL{Value: draining})
}

// CorrectSlots implements [Store].
func (d *Dynamo) CorrectSlots(ctx context.Context, outpostID string, from, to int) error {
	cond := "#used = :from"
	if from == 0 {
		cond = "attribute_not_exists(#used) OR #used = :from"
	}
	return d.update(ctx, outpostKey(outpostID), "SET #used = :to", cond, map[string]string{"#used": "slots_used"},
		attributes{":from": number(int64(from)), ":to": number(int64(to))})
}

// Note implements [Store].
func (d *Dynamo) Note(ctx context.Context, outpostIDs ...string) error {
	if len(outpostIDs) == 0 {
		return nil
	}
	return d.update(ctx, outpostsKey, "ADD #ids :ids", "", map[string]string{"#ids": "ids"},
		attributes{":ids": &types.AttributeValueMemberSS{Value: outpostIDs}})
}

// Noted implements [Store].
func (d *Dynamo) Noted(ctx context.Context) ([]string, error) {
	row, err := d.item(ctx, outpostsKey)
	if err != nil {
		return nil, err
	}
	set, ok := row["ids"].(*types.AttributeValueMemberSS)
	if !ok {
		return nil, nil
	}
	return slices.Sorted(slices.Values(set.Value)), nil
}

// healthItem is the health of an outpost as it is stored, but for the breakers, each of which has an attribute of its own.
type healthItem struct {
	LastPoll  string   `dynamodbav:"last_poll"`
	Waiting   string   `dynamodbav:"waiting"`
	Heartbeat string   `dynamodbav:"heartbeat"`
	Quiet     string   `dynamodbav:"quiet_until"`
	Memo      memoItem `dynamodbav:"memo"`
}

type memoItem struct {
	Orphans    map[string]string `dynamodbav:"orphans,omitempty"`
	NextClaims string            `dynamodbav:"next_claims,omitempty"`
	Resume     string            `dynamodbav:"resume,omitempty"`
}

type breakerItem struct {
	Until  string `dynamodbav:"until"`
	Trips  int    `dynamodbav:"trips"`
	Reason string `dynamodbav:"reason"`
}

// Health implements [Store].
func (d *Dynamo) Health(ctx context.Context, outpostID string) (Health, error) {
	row, err := d.item(ctx, healthKey(outpostID))
	if err != nil {
		return Health{}, err
	}
	var it healthItem
	if err := attributevalue.UnmarshalMap(row, &it); err != nil {
		return Health{}, fmt.Errorf("read health of outpost %s: %w", outpostID, err)
	}
	h := Health{LastPoll: moment(it.LastPoll), Waiting: moment(it.Waiting), Heartbeat: moment(it.Heartbeat), QuietUntil: moment(it.Quiet),
		Memo: Memo{NextClaims: moment(it.Memo.NextClaims), Resume: it.Memo.Resume}}
	for k, at := range it.Memo.Orphans {
		if h.Memo.Orphans == nil {
			h.Memo.Orphans = map[string]time.Time{}
		}
		h.Memo.Orphans[k] = moment(at)
	}
	for name, v := range row {
		choice, ok := strings.CutPrefix(name, breakerStart)
		if !ok {
			continue
		}
		var b breakerItem
		if err := attributevalue.Unmarshal(v, &b); err != nil {
			return Health{}, fmt.Errorf("read breaker %s of outpost %s: %w", choice, outpostID, err)
		}
		if h.Breakers == nil {
			h.Breakers = map[string]Breaker{}
		}
		h.Breakers[choice] = Breaker{Until: moment(b.Until), Trips: b.Trips, Reason: b.Reason}
	}
	return h, nil
}

// Polled implements [Store].
func (d *Dynamo) Polled(ctx context.Context, outpostID string, at, waiting time.Time) error {
	return d.update(ctx, healthKey(outpostID), "SET #at = :at, #waiting = :waiting", "", map[string]string{"#at": "last_poll", "#waiting": "waiting"},
		attributes{":at": when(at), ":waiting": when(waiting)})
}

// Beat implements [Store].
func (d *Dynamo) Beat(ctx context.Context, outpostID string, at time.Time) error {
	return d.set(ctx, healthKey(outpostID), "heartbeat", when(at))
}

// Quiet implements [Store].
func (d *Dynamo) Quiet(ctx context.Context, outpostID string, until time.Time) error {
	err := d.update(ctx, healthKey(outpostID), "SET #quiet = :until", "attribute_not_exists(#quiet) OR #quiet < :until", map[string]string{"#quiet": "quiet_until"},
		attributes{":until": when(until)}) // as text, two times within one second may compare the wrong way
	if errors.Is(err, ErrLost) { // a longer one is known
		return nil
	}
	return err
}

// Swept implements [Store].
func (d *Dynamo) Swept(ctx context.Context, outpostID string, m Memo) error {
	it := memoItem{NextClaims: text(m.NextClaims), Resume: m.Resume}
	for k, at := range m.Orphans {
		if it.Orphans == nil {
			it.Orphans = map[string]string{}
		}
		it.Orphans[k] = text(at)
	}
	v, err := attributevalue.Marshal(it)
	if err != nil {
		return fmt.Errorf("write health of outpost %s: %w", outpostID, err)
	}
	return d.set(ctx, healthKey(outpostID), "memo", v)
}

// Trip implements [Store].
func (d *Dynamo) Trip(ctx context.Context, outpostID, choice string, b Breaker) error {
	v, err := breaker(b)
	if err != nil {
		return err
	}
	return d.set(ctx, healthKey(outpostID), breakerStart+choice, v)
}

// Probe implements [Store].
func (d *Dynamo) Probe(ctx context.Context, outpostID, choice string, seen Breaker, until time.Time) error {
	next := seen
	next.Until = until
	v, err := breaker(next)
	if err != nil {
		return err
	}
	return d.update(ctx, healthKey(outpostID), "SET #b = :next", "#b.#until = :until",
		map[string]string{"#b": breakerStart + choice, "#until": "until"}, attributes{":next": v, ":until": when(seen.Until)})
}

// Heal implements [Store].
func (d *Dynamo) Heal(ctx context.Context, outpostID, choice string) error {
	return d.update(ctx, healthKey(outpostID), "REMOVE #b", "", map[string]string{"#b": breakerStart + choice}, nil)
}

func breaker(b Breaker) (types.AttributeValue, error) {
	return attributevalue.Marshal(breakerItem{text(b.Until), b.Trips, b.Reason})
}

// set writes one attribute of a row, which need not exist.
func (d *Dynamo) set(ctx context.Context, key, name string, v types.AttributeValue) error {
	return d.update(ctx, key, "SET #a = :v", "", map[string]string{"#a": name}, attributes{":v": v})
}

// update changes a row; ErrLost when the condition does not hold.
func (d *Dynamo) update(ctx context.Context, key, expr, cond string, names map[string]string, values attributes) error {
	in := &dynamodb.UpdateItemInput{TableName: &d.Table, Key: pk(key), UpdateExpression: &expr, ExpressionAttributeNames: names, ExpressionAttributeValues: values}
	if cond != "" {
		in.ConditionExpression = aws.String(cond)
	}
	err := d.repeated(ctx, "update "+key, func() error {
		_, err := d.API.UpdateItem(ctx, in)
		return err
	})
	if awserr.ConditionFailed(err) {
		return ErrLost
	}
	return err
}
