package stack

import (
	"path"
	"slices"
	"testing"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

// request is what somebody asks of AWS.
type request struct {
	action, resource string
	context          map[string]string
}

// decide evaluates a role's statements as IAM does, as far as these policies use it: an explicit Deny beats every Allow, including one that a policy of the
// resource gives; without either the answer is implicit.
func decide(t *testing.T, tmpl template, role string, r request) string {
	t.Helper()
	answer := "implicit"
	for _, policy := range tmpl.resource(t, role)["Policies"].([]any) {
		for _, s := range policy.(map[string]any)["PolicyDocument"].(map[string]any)["Statement"].([]any) {
			s := s.(map[string]any)
			if !applies(t, s, r) {
				continue
			}
			if s["Effect"] == "Deny" {
				return "Deny"
			}
			answer = "Allow"
		}
	}
	return answer
}

func applies(t *testing.T, s map[string]any, r request) bool {
	matches := func(key, value string) bool {
		return slices.ContainsFunc(list(s[key]), func(pattern string) bool {
			ok, err := path.Match(pattern, value)
			if err != nil {
				t.Fatal(err)
			}
			return ok || pattern == "*"
		})
	}
	if s["Action"] != nil && !matches("Action", r.action) || s["NotAction"] != nil && matches("NotAction", r.action) ||
		s["Resource"] != nil && !matches("Resource", r.resource) || s["NotResource"] != nil && matches("NotResource", r.resource) {
		return false
	}
	operators, _ := s["Condition"].(map[string]any)
	for operator, keys := range operators {
		for key, wanted := range keys.(map[string]any) {
			equal := slices.Contains(list(wanted), r.context[key])
			switch operator {
			case "StringEquals":
				if !equal {
					return false
				}
			case "StringNotEquals": // true also when the key is absent
				if equal {
					return false
				}
			default:
				t.Fatalf("this test does not know the operator %s", operator)
			}
		}
	}
	return true
}

func TestTaskRoleOpensItsOwnTokensAndNothingElse(t *testing.T) {
	t.Parallel()
	const key, otherKey = "${TokenKey.Arn}", "arn:aws:kms:eu-west-1:123456789012:key/other"
	own, others := map[string]string{contextOutpost: "outpost_env-three"}, map[string]string{contextOutpost: "outpost_env-one"}
	role := idOf("TaskRole", settings.Outpost{ID: "outpost_env-three"})
	for name, test := range map[string]struct {
		request
		want string
	}{
		"own token":                     {request{"kms:Decrypt", key, own}, "Allow"},
		"another outpost's token":       {request{"kms:Decrypt", key, others}, "Deny"},
		"a token without an outpost":    {request{"kms:Decrypt", key, nil}, "Deny"},
		"another key, same context":     {request{"kms:Decrypt", otherKey, own}, "Deny"},
		"encryption":                    {request{"kms:Encrypt", key, own}, "Deny"},
		"a bucket":                      {request{"s3:GetObject", "arn:aws:s3:::open/to-everybody", nil}, "Deny"},
		"another role":                  {request{"sts:AssumeRole", "arn:aws:iam::210987654321:role/open", nil}, "Deny"},
		"the account token":             {request{"secretsmanager:GetSecretValue", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:devin/two-AbCdEf", nil}, "Deny"},
		"ECS Exec, which is off":        {request{"ssmmessages:OpenDataChannel", "*", nil}, "Deny"},
		"who am I, which needs nothing": {request{"sts:GetCallerIdentity", "*", nil}, "Deny"},
	} {
		if got := decide(t, templates["fullest"], role, test.request); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestExecOpensItsChannelsOnly(t *testing.T) {
	t.Parallel()
	role := idOf("TaskRole", settings.Outpost{ID: "outpost_env-one"})
	for _, test := range []struct {
		action, want string
	}{{"ssmmessages:OpenDataChannel", "Allow"}, {"ssm:GetParameter", "Deny"}, {"s3:GetObject", "Deny"}, {"kms:Encrypt", "Deny"}} {
		if got := decide(t, templates["fullest"], role, request{action: test.action, resource: "arn:aws:x"}); got != test.want {
			t.Errorf("%s: %s, want %s", test.action, got, test.want)
		}
	}
}
