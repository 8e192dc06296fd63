package stack

import (
	"regexp"

	"github.com/aws/jsii-runtime-go"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

// The keys of the encryption context that binds a connect token to its session; shared/drive sets them.
const (
	contextOutpost = "kms:EncryptionContext:outpost_id"
	contextKeys    = "kms:EncryptionContextKeys"
)

// execActions are what ECS Exec needs inside a task, as AWS documents it.
var execActions = []string{
	"ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
}

// ecsTasks narrows a role's trust to tasks of this account and region.
func (d *Deployment) ecsTasks() conditions {
	return conditions{"StringEquals": {"aws:SourceAccount": *d.Account()}, "ArnLike": {"aws:SourceArn": d.arn("ecs", "*")}}
}

// newTaskRole makes the role that an outpost's tasks have, and that its sessions could therefore use. It may decrypt connect tokens of its own outpost;
// everything else is denied explicitly, since a policy on some resource elsewhere could allow what no policy here does.
func (d *Deployment) newTaskRole(outpost settings.Outpost) *string {
	if outpost.TaskRole != "" {
		return jsii.String(outpost.TaskRole)
	}
	own := conditions{"StringEquals": {contextOutpost: outpost.ID}}
	others := conditions{"StringNotEquals": {contextOutpost: outpost.ID}}
	statements := []statement{allow("DecryptOwnConnectToken", []string{"kms:Decrypt"}, []string{*d.key.arn}, own)}
	possible := []string{"kms:Decrypt"}
	if outpost.Exec {
		statements = append(statements, allow("Exec", execActions, []string{"*"}, nil).because("The channels of ECS Exec have no resource"))
		possible = append(possible, execActions...)
	}
	statements = append(statements,
		statement{Sid: "NothingElse", Effect: "Deny", NotAction: possible, Resource: []string{"*"}},
		statement{Sid: "NoOtherKey", Effect: "Deny", Action: []string{"kms:Decrypt"}, NotResource: []string{*d.key.arn}},
		statement{Sid: "NoOtherOutpost", Effect: "Deny", Action: []string{"kms:Decrypt"}, Resource: []string{"*"}, Condition: others})
	return d.newRole(idOf("TaskRole", outpost), "Tasks of Devin outpost "+outpost.ID, "ecs-tasks.amazonaws.com", d.ecsTasks(), statements...).AttrArn()
}

// ecrImage matches a reference into a private ECR registry: account, region, repository.
var ecrImage = regexp.MustCompile(`^(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/([a-z0-9._/-]+)(?:[:@].*)?$`)

// newExecutionRole makes the role that ECS itself uses to start tasks: to pull the images and to write the logs. No container can reach it.
func (d *Deployment) newExecutionRole(log logGroup, repositories []string) *string {
	statements := []statement{log.write()}
	if len(repositories) > 0 {
		statements = append(statements,
			allow("SignInToRegistry", []string{"ecr:GetAuthorizationToken"}, []string{"*"}, nil).because("ecr:GetAuthorizationToken has no resource"),
			allow("PullImages", []string{"ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"}, repositories, nil))
	}
	return d.newRole("ExecutionRole", "Starts the tasks: pulls images and writes logs", "ecs-tasks.amazonaws.com", d.ecsTasks(), statements...).AttrArn()
}
