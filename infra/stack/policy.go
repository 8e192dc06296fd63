package stack

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

// conditions of a statement: operator → condition key → value or values.
type conditions map[string]map[string]any

// statement is one statement of an IAM policy, in IAM's own words.
type statement struct {
	Sid         string
	Effect      string
	Principal   map[string]any
	Action      []string
	NotAction   []string
	Resource    []string
	NotResource []string
	Condition   conditions
	// Why says why a resource with a wildcard cannot be narrower; it is what cdk-nag asks for.
	Why string
}

// because gives the reason for a wildcard.
func (s statement) because(why string) statement {
	s.Why = why
	return s
}

// allow is the usual statement.
func allow(sid string, actions []string, resources []string, when conditions) statement {
	return statement{Sid: sid, Effect: "Allow", Action: actions, Resource: resources, Condition: when}
}

func document(statements ...statement) map[string]any {
	var list []any
	for _, s := range statements {
		out := map[string]any{"Sid": s.Sid, "Effect": s.Effect}
		for name, values := range map[string][]string{"Action": s.Action, "NotAction": s.NotAction, "Resource": s.Resource, "NotResource": s.NotResource} {
			switch len(values) {
			case 0:
			case 1:
				out[name] = values[0]
			default:
				out[name] = values
			}
		}
		if s.Principal != nil {
			out["Principal"] = s.Principal
		}
		if s.Condition != nil {
			out["Condition"] = s.Condition
		}
		list = append(list, out)
	}
	return map[string]any{"Version": "2012-10-17", "Statement": list}
}

// newRole makes a role for an AWS service with exactly these statements. No managed policy is ever attached, and nothing else in this package adds to a role.
func (d *Deployment) newRole(id, description, service string, trust conditions, statements ...statement) awsiam.CfnRole {
	role := awsiam.NewCfnRole(d.Stack, jsii.String(id), &awsiam.CfnRoleProps{
		Description: jsii.String(description),
		AssumeRolePolicyDocument: document(statement{
			Sid: "Service", Effect: "Allow", Principal: map[string]any{"Service": service}, Action: []string{"sts:AssumeRole"}, Condition: trust,
		}),
		Policies: []any{awsiam.CfnRole_PolicyProperty{PolicyName: jsii.String("Inline"), PolicyDocument: document(statements...)}},
	})
	told := map[string]bool{}
	for _, s := range statements {
		for _, resource := range s.Resource {
			if s.Why != "" && strings.Contains(resource, "*") && !told[s.Why+resource] {
				told[s.Why+resource] = true
				d.accept(role, "AwsSolutions-IAM5", s.Why, "Resource::"+d.asNagSees(resource))
			}
		}
	}
	return role
}

// accept says why a finding of cdk-nag stands: the rule, the reason, and, for rules that find several things in one resource, which of them.
func (d *Deployment) accept(resource awscdk.CfnResource, rule, reason string, findings ...string) {
	d.accepted[resource] = append(d.accepted[resource], map[string]any{"id": rule, "reason": reason})
	last := d.accepted[resource][len(d.accepted[resource])-1].(map[string]any)
	if len(findings) > 0 {
		last["applies_to"] = findings
	}
	resource.AddMetadata(jsii.String("cdk_nag"), map[string]any{"rules_to_suppress": d.accepted[resource]})
}

// asNagSees writes a resource with references as cdk-nag names it in findings.
func (d *Deployment) asNagSees(resource string) string {
	return strings.NewReplacer(*d.Partition(), "<AWS::Partition>", *d.Region(), "<AWS::Region>", *d.Account(), "<AWS::AccountId>", *d.cluster.name, "<Cluster>").Replace(resource)
}
