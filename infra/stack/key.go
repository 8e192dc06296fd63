package stack

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/jsii-runtime-go"
)

type key struct {
	arn *string
}

// newKey makes the key that connect tokens are encrypted with on their way to their task. Who may use it is decided by the roles' policies (the first
// statement), except for a task role of the user's, which is let in here for its own outpost.
func (d *Deployment) newKey() key {
	statements := []statement{{
		Sid: "RolesDecide", Effect: "Allow", Principal: map[string]any{"AWS": "arn:" + *d.Partition() + ":iam::" + *d.Account() + ":root"},
		Action: []string{"kms:*"}, Resource: []string{"*"},
	}}
	for i, outpost := range d.settings.Outposts {
		if outpost.TaskRole == "" {
			continue
		}
		statements = append(statements, statement{
			Sid: fmt.Sprintf("OwnTaskRole%d", i), Effect: "Allow", Principal: map[string]any{"AWS": outpost.TaskRole},
			Action: []string{"kms:Decrypt"}, Resource: []string{"*"}, Condition: conditions{"StringEquals": {contextOutpost: outpost.ID}},
		})
	}
	k := awskms.NewCfnKey(d.Stack, jsii.String("TokenKey"), &awskms.CfnKeyProps{
		Description:         jsii.String("Connect tokens of Devin sessions, on their way to their tasks"),
		EnableKeyRotation:   jsii.Bool(false),
		PendingWindowInDays: jsii.Number(7),
		KeyPolicy:           document(statements...),
	})
	d.keep(k)
	d.accept(k, "AwsSolutions-KMS5", "A ciphertext lives for hours and the key never leaves KMS, so a new version each year would protect nothing, and each costs a dollar a month")
	return key{arn: k.AttrArn()}
}
