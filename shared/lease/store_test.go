package lease_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease"
	"github.com/devin-outposts/devin-outposts-aws/shared/lease/leasetest"
	"github.com/sivchari/kumo"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	leasetest.Suite(t, load(), func(*testing.T) lease.Store { return &lease.Memory{} })
}

func TestDynamoDBKeepsTheContract(t *testing.T) {
	t.Parallel()
	leasetest.Suite(t, load(), func(t *testing.T) lease.Store { return table(t, client(t)) })
}

func TestDynamoDBKeepsTheContractWhileTransactionsConflict(t *testing.T) {
	t.Parallel()
	leasetest.Suite(t, load(), func(t *testing.T) lease.Store { return table(t, &conflicting{Client: client(t)}) })
}

func TestEveryAttributeIsNamedThroughAPlaceholder(t *testing.T) {
	t.Parallel()
	spy := &spying{API: client(t)}
	leasetest.Suite(t, load(), func(t *testing.T) lease.Store { return table(t, spy) })
	t.Cleanup(func() {
		for _, e := range spy.seen() {
			for _, word := range strings.FieldsFunc(e, func(r rune) bool { return strings.ContainsRune(" ()=<,.+", r) }) {
				switch word {
				case "AND", "OR", "SET", "ADD", "REMOVE", "attribute_not_exists", "if_not_exists":
				default:
					if word[0] != '#' && word[0] != ':' {
						t.Errorf("%q names %q without a placeholder", e, word)
					}
				}
			}
		}
	})
}

// endpoint is another DynamoDB to hold to the contract, such as moto's; kumo, in-process, by default.
var endpoint = sync.OnceValue(func() string {
	if e := os.Getenv("LEASE_TEST_ENDPOINT"); e != "" {
		return e
	}
	return kumo.NewServer().URL
})

func client(*testing.T) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: aws.String(endpoint()), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		DisableValidateResponseChecksum: true})
}

// load is what the store is to bear: another emulator than ours may copy its whole table for every item of a transaction.
func load() leasetest.Load {
	if os.Getenv("LEASE_TEST_ENDPOINT") != "" {
		return leasetest.Load{Claimers: 4, Sessions: 24, Slots: 6}
	}
	return leasetest.Full
}

var tables atomic.Int64

func table(t *testing.T, api lease.API) lease.Store {
	name := fmt.Sprintf("leases-%d-%d", os.Getpid(), tables.Add(1))
	if err := lease.CreateTable(t.Context(), client(t), name); err != nil {
		t.Fatal(err)
	}
	return &lease.Dynamo{API: api, Table: name}
}

// conflicting refuses each write twice, as DynamoDB does when others write the same item in transactions; a transaction's second conflict comes after it took
// effect.
type conflicting struct {
	*dynamodb.Client
	mu    sync.Mutex
	calls map[any]int
}

// nth counts the tries of a write.
func (c *conflicting) nth(in any) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[any]int{}
	}
	c.calls[in]++
	return c.calls[in]
}

func (c *conflicting) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if c.nth(in) <= 2 {
		return nil, &types.TransactionConflictException{Message: aws.String("Transaction is ongoing for the item")}
	}
	return c.Client.PutItem(ctx, in, opts...)
}

func (c *conflicting) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if c.nth(in) <= 2 {
		return nil, &types.TransactionConflictException{Message: aws.String("Transaction is ongoing for the item")}
	}
	return c.Client.UpdateItem(ctx, in, opts...)
}

func (c *conflicting) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	n := c.nth(in)
	if in.ClientRequestToken != nil {
		return nil, fmt.Errorf("try %d carries the token of another", n)
	}
	if n == 2 {
		_, _ = c.Client.TransactWriteItems(ctx, in, opts...)
	}
	if n <= 2 {
		return nil, &types.TransactionCanceledException{Message: aws.String("Transaction cancelled"),
			CancellationReasons: []types.CancellationReason{{Code: aws.String("None")}, {Code: aws.String("TransactionConflict")}}}
	}
	return c.Client.TransactWriteItems(ctx, in, opts...)
}

// spying keeps the expressions of all calls.
type spying struct {
	lease.API
	mu          sync.Mutex
	expressions map[string]bool
}

func (s *spying) keep(es ...*string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expressions == nil {
		s.expressions = map[string]bool{}
	}
	for _, e := range es {
		if e != nil {
			s.expressions[*e] = true
		}
	}
}

func (s *spying) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for e := range s.expressions {
		out = append(out, e)
	}
	return out
}

func (s *spying) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	s.keep(in.ConditionExpression)
	return s.API.PutItem(ctx, in, opts...)
}

func (s *spying) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	s.keep(in.ConditionExpression, in.UpdateExpression)
	return s.API.UpdateItem(ctx, in, opts...)
}

func (s *spying) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	s.keep(in.KeyConditionExpression, in.FilterExpression)
	return s.API.Query(ctx, in, opts...)
}

func (s *spying) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	for _, it := range in.TransactItems {
		if it.Put != nil {
			s.keep(it.Put.ConditionExpression)
		}
		if it.Update != nil {
			s.keep(it.Update.ConditionExpression, it.Update.UpdateExpression)
		}
	}
	return s.API.TransactWriteItems(ctx, in, opts...)
}
