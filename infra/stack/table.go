package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"
)

// The lease table's names, which shared/lease uses too.
const (
	tableKey      = "pk"
	activeIndex   = "active"
	activeOutpost = "active_outpost"
	expiresAt     = "expires_at"
)

type table struct {
	name, arn, indexARN *string
}

func (d *Deployment) newTable() table {
	attribute := func(name string) awsdynamodb.CfnTable_AttributeDefinitionProperty {
		return awsdynamodb.CfnTable_AttributeDefinitionProperty{AttributeName: jsii.String(name), AttributeType: jsii.String("S")}
	}
	schema := func(name, kind string) awsdynamodb.CfnTable_KeySchemaProperty {
		return awsdynamodb.CfnTable_KeySchemaProperty{AttributeName: jsii.String(name), KeyType: jsii.String(kind)}
	}
	t := awsdynamodb.NewCfnTable(d.Stack, jsii.String("Leases"), &awsdynamodb.CfnTableProps{
		BillingMode:          jsii.String("PAY_PER_REQUEST"),
		AttributeDefinitions: []any{attribute(tableKey), attribute(activeOutpost)},
		KeySchema:            []any{schema(tableKey, "HASH")},
		GlobalSecondaryIndexes: []any{awsdynamodb.CfnTable_GlobalSecondaryIndexProperty{
			IndexName:  jsii.String(activeIndex),
			KeySchema:  []any{schema(activeOutpost, "HASH"), schema(tableKey, "RANGE")},
			Projection: awsdynamodb.CfnTable_ProjectionProperty{ProjectionType: jsii.String("ALL")},
		}},
		TimeToLiveSpecification: awsdynamodb.CfnTable_TimeToLiveSpecificationProperty{AttributeName: jsii.String(expiresAt), Enabled: jsii.Bool(true)},
	})
	d.keep(t)
	d.accept(t, "AwsSolutions-DDB3", "The table holds hours of state, which the queue and ECS would give again; an old state would be worse than none")
	return table{name: t.Ref(), arn: t.AttrArn(), indexARN: jsii.String(*t.AttrArn() + "/index/" + activeIndex)}
}
