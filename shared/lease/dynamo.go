package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// API is the part of DynamoDB that the store calls.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Dynamo is the store in a DynamoDB table: partition key pk, one sparse index "active" (active_outpost, pk), time to live by expires_at.
type Dynamo struct {
	API   API
	Table string
	// Pause waits before a write that met another transaction is tried again; the argument counts the tries from 1. Nil: no waiting.
	Pause func(ctx context.Context, try int) error
}

type attributes = map[string]types.AttributeValue

// tries bounds how often a write that meets other transactions is made.
const tries = 12

// Get implements [Store].
func (d *Dynamo) Get(ctx context.Context, sessionID string) (*session.Lease, error) {
	row, err := d.item(ctx, sessionKey(sessionID))
	if err != nil || len(row) == 0 {
		return nil, err
	}
	var it item
	if err := attributevalue.UnmarshalMap(row, &it); err != nil {
		return nil, fmt.Errorf("read lease of session %s: %w", sessionID, err)
	}
	l := load(it)
	return &l, nil
}

// item reads one row, consistently.
func (d *Dynamo) item(ctx context.Context, key string) (attributes, error) {
	out, err := d.API.GetItem(ctx, &dynamodb.GetItemInput{TableName: &d.Table, Key: pk(key), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return out.Item, nil
}

// Reserve implements [Store].
func (d *Dynamo) Reserve(ctx context.Context, to session.Lease, max int) error {
	put, err := d.put(to)
	if err != nil {
		return err
	}
	put.ConditionExpression = aws.String("attribute_not_exists(#pk)")
	put.ExpressionAttributeNames = map[string]string{"#pk": "pk"}
	if to.Rev > 1 {
		put.ConditionExpression = aws.String("#rev = :rev AND #state = :ended")
		put.ExpressionAttributeNames = map[string]string{"#rev": "rev", "#state": "state"}
		put.ExpressionAttributeValues = attributes{":rev": number(to.Rev - 1), ":ended": str(string(session.Ended))}
	}
	counter := &types.Update{TableName: &d.Table, Key: pk(outpostKey(to.OutpostID)),
		UpdateExpression:          aws.String("SET #used = if_not_exists(#used, :zero) + :one"),
		ConditionExpression:       aws.String("(attribute_not_exists(#used) OR #used < :max) AND (attribute_not_exists(#draining) OR #draining = :false)"),
		ExpressionAttributeNames:  map[string]string{"#used": "slots_used", "#draining": "draining"},
		ExpressionAttributeValues: attributes{":zero": number(0), ":one": number(1), ":max": number(int64(max)), ":false": &types.AttributeValueMemberBOOL{}}}
	refused, err := d.transact(ctx, "reserve a slot for session "+to.SessionID, put, counter)
	if err != nil || refused == nil {
		return err
	}
	if ours, err := d.written(ctx, to); ours || err != nil {
		return err
	}
	if refused[0] == awserr.ConditionCode {
		return ErrLost
	}
	c, err := d.Counter(ctx, to.OutpostID)
	if err != nil {
		return err
	}
	if c.Draining {
		return ErrDraining
	}
	return ErrAtCapacity
}

// Save implements [Store].
func (d *Dynamo) Save(ctx context.Context, to session.Lease) error {
	put, err := d.fenced(to)
	if err != nil {
		return err
	}
	in := &dynamodb.PutItemInput{TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues}
	err = d.repeated(ctx, "write lease of session "+to.SessionID, func() error {
		_, err := d.API.PutItem(ctx, in)
		return err
	})
	if awserr.ConditionFailed(err) {
		return d.lostUnlessWritten(ctx, to)
	}
	return err
}

// End implements [Store].
func (d *Dynamo) End(ctx context.Context, to session.Lease) error {
	put, err := d.fenced(to)
	if err != nil {
		return err
	}
	counter := &types.Update{TableName: &d.Table, Key: pk(outpostKey(to.OutpostID)), UpdateExpression: aws.String("ADD #used :less"),
		ExpressionAttributeNames: map[string]string{"#used": "slots_used"}, ExpressionAttributeValues: attributes{":less": number(-1)}}
	refused, err := d.transact(ctx, "end the lease of session "+to.SessionID, put, counter)
	if err != nil || refused == nil {
		return err
	}
	return d.lostUnlessWritten(ctx, to)
}

// put is the unconditional write of a lease.
func (d *Dynamo) put(l session.Lease) (*types.Put, error) {
	row, err := attributevalue.MarshalMap(store(l))
	if err != nil {
		return nil, fmt.Errorf("write lease of session %s: %w", l.SessionID, err)
	}
	return &types.Put{TableName: &d.Table, Item: row}, nil
}

// fenced is the write of a lease over its previous revision.
func (d *Dynamo) fenced(l session.Lease) (*types.Put, error) {
	put, err := d.put(l)
	if err != nil {
		return nil, err
	}
	put.ConditionExpression = aws.String("#epoch = :epoch AND #rev = :rev")
	put.ExpressionAttributeNames = map[string]string{"#epoch": "epoch", "#rev": "rev"}
	put.ExpressionAttributeValues = attributes{":epoch": str(l.Epoch), ":rev": number(l.Rev - 1)}
	return put, nil
}

// transact writes a lease and a counter together. It answers which of the two conditions refused; nil when neither did and both are written.
func (d *Dynamo) transact(ctx context.Context, what string, put *types.Put, counter *types.Update) (refused []string, err error) {
	in := &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: put}, {Update: counter}}}
	err = d.repeated(ctx, what, func() error {
		in.ClientRequestToken = nil // which the SDK writes here: a transaction that was cancelled did nothing, and the next is another
		_, err := d.API.TransactWriteItems(ctx, in)
		return err
	})
	if awserr.ConditionFailed(err) {
		return awserr.CancelReasons(err), nil
	}
	return nil, err
}

// repeated makes a write, again and again while it meets other transactions on the same row.
func (d *Dynamo) repeated(ctx context.Context, what string, write func() error) error {
	for try := 1; ; try++ {
		err := write()
		if err == nil {
			return nil
		}
		if awserr.TransactionConflict(err) && try < tries {
			if d.Pause == nil {
				continue
			}
			if err = d.Pause(ctx, try); err == nil {
				continue
			}
		}
		return fmt.Errorf("%s: %w", what, err)
	}
}

// written says whether the lease in the table is the very one we tried to write: an earlier try took effect although its answer was lost.
func (d *Dynamo) written(ctx context.Context, to session.Lease) (bool, error) {
	now, err := d.Get(ctx, to.SessionID)
	return now != nil && store(*now) == store(to), err
}

func (d *Dynamo) lostUnlessWritten(ctx context.Context, to session.Lease) error {
	ours, err := d.written(ctx, to)
	if err != nil || ours {
		return err
	}
	return ErrLost
}

// Active implements [Store].
func (d *Dynamo) Active(ctx context.Context, outpostID string, visit func(session.Lease) error) error {
	in := &dynamodb.QueryInput{TableName: &d.Table, IndexName: aws.String(activeIndex), KeyConditionExpression: aws.String("#o = :o"),
		ExpressionAttributeNames: map[string]string{"#o": "active_outpost"}, ExpressionAttributeValues: attributes{":o": str(outpostID)}}
	for {
		page, err := d.API.Query(ctx, in)
		if err != nil {
			return fmt.Errorf("list active leases of outpost %s: %w", outpostID, err)
		}
		for _, row := range page.Items {
			var it item
			if err := attributevalue.UnmarshalMap(row, &it); err != nil {
				return fmt.Errorf("list active leases of outpost %s: %w", outpostID, err)
			}
			if err := visit(load(it)); err != nil {
				return err
			}
		}
		if len(page.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = page.LastEvaluatedKey
	}
}

func pk(key string) attributes                  { return attributes{"pk": str(key)} }
func str(s string) *types.AttributeValueMemberS { return &types.AttributeValueMemberS{Value: s} }
func number(n int64) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
}
func when(t time.Time) *types.AttributeValueMemberS { return str(text(t)) }
