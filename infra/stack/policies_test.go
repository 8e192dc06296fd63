package stack

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every right that the stack gives to anybody is in testdata/*.policies.txt, in a form that can be reviewed: one line a statement's part.
func TestPoliciesAreTheReviewedOnes(t *testing.T) {
	t.Parallel()
	for name, tmpl := range templates {
		if name == "default" || name == "fullest" {
			golden(t, name+".policies.txt", []byte(tmpl.policies(t)))
		}
	}
}

func (t template) policies(tb testing.TB) string {
	var out strings.Builder
	for _, id := range t.ofType("AWS::IAM::Role") {
		role := t.resource(tb, id)
		fmt.Fprintf(&out, "role %s\n", id)
		writeStatements(&out, "trust", role["AssumeRolePolicyDocument"])
		for _, policy := range role["Policies"].([]any) {
			writeStatements(&out, "", policy.(map[string]any)["PolicyDocument"])
		}
		out.WriteString("\n")
	}
	for _, kind := range []struct{ resource, property, of string }{
		{"AWS::KMS::Key", "KeyPolicy", ""}, {"AWS::SQS::QueuePolicy", "PolicyDocument", "Queues"}, {"AWS::SNS::TopicPolicy", "PolicyDocument", "Topics"},
	} {
		for _, id := range t.ofType(kind.resource) {
			policy := t.resource(tb, id)
			fmt.Fprintf(&out, "policy of %s", id)
			if kind.of != "" {
				fmt.Fprintf(&out, " on %v", plain(policy[kind.of]))
			}
			out.WriteString("\n")
			writeStatements(&out, "", policy[kind.property])
			out.WriteString("\n")
		}
	}
	for _, id := range t.ofType("AWS::Lambda::Permission") {
		p := t.resource(tb, id)
		fmt.Fprintf(&out, "permission %s\n  allow %v to %v on %v\n    when source ARN is %v\n\n", id, p["Principal"], p["Action"], plain(p["FunctionName"]), plain(p["SourceArn"]))
	}
	return out.String()
}

func writeStatements(out *strings.Builder, prefix string, document any) {
	for _, s := range document.(map[string]any)["Statement"].([]any) {
		s := s.(map[string]any)
		fmt.Fprintf(out, "  %s %s\n", strings.TrimSpace(prefix+" "+strings.ToLower(s["Effect"].(string))), s["Sid"])
		for _, part := range []string{"Principal", "Action", "NotAction", "Resource", "NotResource"} {
			for _, value := range list(s[part]) {
				fmt.Fprintf(out, "    %-11s %s\n", strings.ToLower(part), value)
			}
		}
		for _, condition := range sortedConditions(s["Condition"]) {
			fmt.Fprintf(out, "    when        %s\n", condition)
		}
	}
}

// list answers a policy's value or values as sorted text.
func list(value any) []string {
	switch v := plain(value).(type) {
	case nil:
		return nil
	case []any:
		var out []string
		for _, inner := range v {
			out = append(out, list(inner)...)
		}
		slices.Sort(out)
		return out
	case string:
		return []string{v}
	default:
		text, _ := json.Marshal(v) //nolint:errcheck // it came from JSON
		return []string{string(text)}
	}
}

func sortedConditions(condition any) []string {
	var out []string
	operators, _ := condition.(map[string]any)
	for operator, keys := range operators {
		for key, values := range keys.(map[string]any) {
			out = append(out, fmt.Sprintf("%s %s %s", key, operator, strings.Join(list(values), ", ")))
		}
	}
	slices.Sort(out)
	return out
}

// narrowest are the statements whose resource is `*` because AWS offers nothing narrower, or because they deny.
var narrowest = map[string]string{
	"ListTasks":        "checked against container instances; narrowed by the cluster",
	"SignInToRegistry": "ecr:GetAuthorizationToken has no resource",
	"Exec":             "the channels of ssmmessages have no resource",
	"FindGroup":        "logs:DescribeLogGroups is asked for all groups by VPC flow logs",
}

func TestNoRoleHasAManagedPolicyOrAWildcardThatCouldBeNarrower(t *testing.T) {
	t.Parallel()
	for name, tmpl := range templates {
		for _, id := range tmpl.ofType("AWS::IAM::Role") {
			role := tmpl.resource(t, id)
			if role["ManagedPolicyArns"] != nil {
				t.Errorf("%s: role %s has managed policies: %v", name, id, role["ManagedPolicyArns"])
			}
			for _, policy := range role["Policies"].([]any) {
				for _, s := range policy.(map[string]any)["PolicyDocument"].(map[string]any)["Statement"].([]any) {
					s := s.(map[string]any)
					if s["Effect"] == "Deny" {
						continue
					}
					for _, action := range list(s["Action"]) {
						if strings.Contains(action, "*") {
							t.Errorf("%s: role %s allows %s", name, id, action)
						}
					}
					if _, known := narrowest[s["Sid"].(string)]; slices.Contains(list(s["Resource"]), "*") && !known {
						t.Errorf("%s: role %s, statement %s allows every resource", name, id, s["Sid"])
					}
				}
			}
		}
		for _, kind := range []string{"AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::User"} {
			if ids := tmpl.ofType(kind); ids != nil {
				t.Errorf("%s: has %s %v; every right belongs into its role", name, kind, ids)
			}
		}
	}
}

// called finds the SDK's operations in Go source: each has an input of its name, and the store's transactions consist of puts and updates.
var called = regexp.MustCompile(`\b(dynamodb|ecs|eventbridge|kms|secretsmanager|sqs|ssm)\.([A-Z][A-Za-z]+)Input\b`)

// allowedBy gives the IAM action of operations that have no action of their own.
var allowedBy = map[string]string{
	"sqs:SendMessageBatch": "sqs:SendMessage", "eventbridge:PutEvents": "events:PutEvents", "dynamodb:TransactWriteItems": "dynamodb:PutItem",
}

// notCalled are actions that the functions' roles need for what Lambda does in their place, or ECS within RunTask.
var notCalled = []string{
	"ecs:TagResource", "iam:PassRole", "kms:Decrypt", "logs:CreateLogStream", "logs:PutLogEvents", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage",
}

func TestFunctionsMayCallWhatTheirCodeCallsAndNothingElse(t *testing.T) {
	t.Parallel()
	calls := map[string]bool{}
	for _, root := range []string{"../../shared", "../../functions"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && (strings.HasSuffix(path, "test") || entry.Name() == "laptop") {
				return fs.SkipDir
			}
			// table.go makes the table for tests.
			if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "lease/table.go") {
				return nil
			}
			source, err := os.ReadFile(path)
			for _, call := range called.FindAllSubmatch(source, -1) {
				action := string(call[1]) + ":" + string(call[2])
				if instead, ok := allowedBy[action]; ok {
					action = instead
				}
				calls[action] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, action := range notCalled {
		calls[action] = true
	}
	allowed := map[string]bool{}
	for _, name := range Functions {
		for _, policy := range templates["fullest"].resource(t, title(name)+"Role")["Policies"].([]any) {
			for _, s := range policy.(map[string]any)["PolicyDocument"].(map[string]any)["Statement"].([]any) {
				for _, action := range list(s.(map[string]any)["Action"]) {
					allowed[action] = true
				}
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(calls)), slices.Sorted(maps.Keys(allowed))); diff != "" {
		t.Errorf("actions (-called +allowed):\n%s", diff)
	}
}

func TestInlinePoliciesFitIntoARoleHoweverLongTheNames(t *testing.T) {
	t.Parallel()
	tmpl := templates["longest"]
	for _, id := range tmpl.ofType("AWS::IAM::Role") {
		text, err := json.Marshal(plain(tmpl.resource(t, id)["Policies"].([]any)[0].(map[string]any)["PolicyDocument"]))
		if err != nil {
			t.Fatal(err)
		}
		// What CloudFormation puts in for the references is longer than their names here.
		filled := strings.NewReplacer("${AWS::Partition}", "aws", "${AWS::Region}", "ap-southeast-1", "${AWS::AccountId}", "123456789012",
			"${", strings.Repeat("n", 60)+"${").Replace(string(text))
		if len(filled) > 10240 {
			t.Errorf("role %s has %d characters of inline policy; AWS takes 10,240", id, len(filled))
		}
	}
}
