package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/devin-outposts/devin-outposts-aws/shared/session"
)

// readsAtOnce bounds how many leases are read in parallel.
const readsAtOnce = 16

// history lists the ended leases of these outposts that have not expired, the newest first. It scans the table: no index holds them, and only people ask.
func (d *deployment) history(ctx context.Context, now time.Time, outposts []string) ([]leaseRow, error) {
	db := dynamodb.NewFromConfig(d.clients, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true })
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &d.env.Table, FilterExpression: aws.String("#state = :ended"),
		ProjectionExpression:      aws.String("#id"),
		ExpressionAttributeNames:  map[string]string{"#state": "state", "#id": "session_id"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":ended": &types.AttributeValueMemberS{Value: string(session.Ended)}}})
	var ids []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("scan table %s: %w", d.env.Table, err)
		}
		for _, item := range page.Items {
			var key struct {
				SessionID string `dynamodbav:"session_id"`
			}
			if err := attributevalue.UnmarshalMap(item, &key); err != nil {
				return nil, fmt.Errorf("scan table %s: %w", d.env.Table, err)
			}
			ids = append(ids, key.SessionID)
		}
	}
	leases, errs := make([]*session.Lease, len(ids)), make([]error, len(ids))
	d.kit.FanOut(len(ids), readsAtOnce, func(i int) { leases[i], errs[i] = d.kit.Store.Get(ctx, ids[i]) })
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	rows := []leaseRow{}
	for _, l := range leases {
		if l != nil && l.State == session.Ended && now.Before(l.ExpiresAt) && slices.Contains(outposts, l.OutpostID) {
			rows = append(rows, newLeaseRow(*l))
		}
	}
	slices.SortFunc(rows, func(a, b leaseRow) int { return b.EndedAt.Compare(a.EndedAt) })
	return rows, nil
}
