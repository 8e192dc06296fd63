package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TableInput describes the lease table, for emulators; the stack declares the same.
func TableInput(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("active_outpost"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: aws.String(activeIndex),
			KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("active_outpost"), KeyType: types.KeyTypeHash},
				{AttributeName: aws.String("pk"), KeyType: types.KeyTypeRange}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}}}
}

// CreateTable makes the lease table in an emulator; a table that exists is left as it is.
func CreateTable(ctx context.Context, c *dynamodb.Client, name string) error {
	_, err := c.CreateTable(ctx, TableInput(name))
	if exists := (*types.ResourceInUseException)(nil); errors.As(err, &exists) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create lease table %s: %w", name, err)
	}
	return nil
}
