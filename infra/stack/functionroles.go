package stack

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
)

// newFunctionRole makes the role of one function, with what that function does and no more. poll sees sessions and offers them; only the other three, which
// drive leases, can start and stop tasks; and only claim takes offers, which it must never send (Lambda would stop it as a loop).
func (d *Deployment) newFunctionRole(name string, log logGroup) awsiam.CfnRole {
	statements := slices.Concat([]statement{log.write(), d.readConfiguration()}, d.readTokens(), d.readLeases())
	switch name {
	case "poll":
		statements = append(statements, d.noteHealth(), d.sendOffers())
	case "claim":
		statements = append(statements, d.writeLeases(), d.takeOffers())
		statements = append(statements, d.driveSessions()...)
	default:
		statements = append(statements, d.writeLeases(), d.sendOffers())
		statements = append(statements, d.driveSessions()...)
	}
	if name == "observe" {
		statements = append(statements, allow("KeepFailedEvents", []string{"sqs:SendMessage"}, []string{*d.queues.deadEvents.arn}, nil))
	}
	// Lambda documents no source account in this trust; only who may pass the role, in this account, can give it to a function.
	return d.newRole(title(name)+"Role", "The function "+name+" of Devin outposts", "lambda.amazonaws.com", nil, statements...)
}

func (d *Deployment) readConfiguration() statement {
	var parameters []string
	for _, outpost := range d.settings.Outposts {
		parameters = append(parameters, d.arn("ssm", "parameter"+d.settings.Parameter(outpost)))
	}
	return allow("ReadConfiguration", []string{"ssm:GetParameters"}, parameters, nil)
}

func (d *Deployment) readLeases() []statement {
	return []statement{
		allow("ReadLeases", []string{"dynamodb:GetItem"}, []string{*d.table.arn}, nil),
		allow("ListActiveLeases", []string{"dynamodb:Query"}, []string{*d.table.indexARN}, nil),
	}
}

// noteHealth lets poll write how it fares and which outposts it has seen, but no lease and no slot.
func (d *Deployment) noteHealth() statement {
	return allow("NoteHealth", []string{"dynamodb:PutItem", "dynamodb:UpdateItem"}, []string{*d.table.arn},
		conditions{"ForAllValues:StringLike": {"dynamodb:LeadingKeys": []string{"health#*", "outposts"}}, "Null": {"dynamodb:LeadingKeys": "false"}})
}

func (d *Deployment) writeLeases() statement {
	return allow("WriteLeases", []string{"dynamodb:PutItem", "dynamodb:UpdateItem"}, []string{*d.table.arn}, nil)
}

func (d *Deployment) sendOffers() statement {
	return allow("SendOffers", []string{"sqs:SendMessage"}, []string{*d.queues.offers.arn}, nil)
}

func (d *Deployment) takeOffers() statement {
	return allow("TakeOffers", []string{"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"},
		[]string{*d.queues.offers.arn}, nil)
}

// driveSessions is what applying a session's next action takes.
func (d *Deployment) driveSessions() []statement {
	var definitions, roles, outposts []string
	add := func(list *[]string, value string) {
		if !slices.Contains(*list, value) {
			*list = append(*list, value)
		}
	}
	for _, w := range d.worker {
		// RunTask names the family alone, and IAM then compares with an ARN without a revision (seen in the field), although AWS documents one with it.
		add(&definitions, d.arn("ecs", "task-definition/"+w.family))
		add(&definitions, d.arn("ecs", "task-definition/"+w.family+":*"))
		add(&roles, *w.taskRole)
		add(&roles, *w.execRole)
		add(&outposts, w.outpost.ID)
	}
	tasks := []string{d.arn("ecs", "task/"+*d.cluster.name+"/*")}
	ours := conditions{"ArnEquals": {"ecs:cluster": *d.cluster.arn}}
	return []statement{
		allow("RunWorkers", []string{"ecs:RunTask"}, definitions, ours).because("A task definition's revision rises with each deployment"),
		// RunTask gives tasks the tags of their definition, for which ECS asks this permission, too (AWS, "Grant permission to tag resources on creation").
		allow("TagTasksAtTheirStart", []string{"ecs:TagResource"}, tasks, conditions{"StringEquals": {"ecs:CreateAction": "RunTask"}}).because("A task's id is made when it starts"),
		allow("SeeAndStopTasks", []string{"ecs:DescribeTasks", "ecs:StopTask"}, tasks, ours).
			because("A task's id is made when it starts"),
		allow("ListTasks", []string{"ecs:ListTasks"}, []string{"*"}, ours).
			because("ListTasks is checked against container instances, which Fargate tasks have none of; the cluster narrows it"),
		allow("GiveWorkersTheirRoles", []string{"iam:PassRole"}, roles, conditions{"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}),
		allow("EncryptConnectTokens", []string{"kms:Encrypt"}, []string{*d.key.arn}, conditions{
			"StringEquals":              {contextOutpost: outposts},
			"ForAllValues:StringEquals": {contextKeys: []string{"outpost_id", "session_id"}},
		}),
		allow("TellLifecycle", []string{"events:PutEvents"}, []string{d.arn("events", "event-bus/default")},
			conditions{"StringEquals": {"events:source": "devin.outposts"}}),
	}
}
