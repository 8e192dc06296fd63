//go:build testaws

package testaws

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// account is moto's, and the local ECS's too.
const account = "123456789012"

// left are the resources that are not made, and why; what refers to them is left out as well.
var left = map[string]string{
	"AWS::Scheduler::ScheduleGroup":                 "unknown to moto's CloudFormation",
	"AWS::Scheduler::Schedule":                      "unknown to moto's CloudFormation",
	"AWS::Lambda::EventSourceMapping":               "moto would run the function in Docker",
	"AWS::Events::Rule":                             "moto delivers no ECS events",
	"AWS::CloudWatch::Alarm":                        "unknown to moto's CloudFormation",
	"AWS::SQS::QueuePolicy":                         "unknown to moto's CloudFormation",
	"AWS::Lambda::EventInvokeConfig":                "unknown to moto's CloudFormation",
	"AWS::ECS::ClusterCapacityProviderAssociations": "unknown to moto's CloudFormation",
}

// template is the part of a CloudFormation template that is looked at.
type template struct {
	Resources map[string]struct {
		Type       string
		Properties map[string]any
		DependsOn  any `json:",omitempty"`
	}
	Outputs, Parameters any
}

// deployed is the stack as moto's CloudFormation made it.
type deployed struct {
	physical  map[string]string            // logical id → physical id
	functions map[string]map[string]string // function → its environment, all references resolved
	family    string                       // of the only outpost's task definition
	tags      map[string]string            // and its tags
	token     string                       // name of the account token's secret
}

// deploy makes the synthesised stack in moto.
func deploy(t *testing.T, site, token string) deployed {
	t.Helper()
	clients := moto(t)
	// What `cdk bootstrap` and the user do before.
	if _, err := ssm.NewFromConfig(clients).PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: aws.String("/cdk-bootstrap/hnb659fds/version"), Value: aws.String("30"), Type: types.ParameterTypeString,
	}); err != nil {
		t.Fatal(err)
	}
	d := deployed{physical: map[string]string{}, functions: map[string]map[string]string{}, tags: map[string]string{}, token: "devin-outposts/token"}
	if _, err := secretsmanager.NewFromConfig(clients).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &d.token, SecretString: &token}); err != nil {
		t.Fatal(err)
	}

	files, err := filepath.Glob(filepath.Join(site, "cdk.out", "*.template.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("templates in %s: %v (%v)", site, files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var tmpl template
	if err := json.Unmarshal(text, &tmpl); err != nil {
		t.Fatal(err)
	}
	prune(t, &tmpl)
	call(t, "s3", http.MethodPut, "/cdk-hnb659fds-assets-"+account+"-us-east-1", nil)
	for _, resource := range tmpl.Resources {
		if resource.Type == "AWS::Lambda::Function" {
			key := resource.Properties["Code"].(map[string]any)["S3Key"].(string)
			call(t, "s3", http.MethodPut, "/cdk-hnb659fds-assets-"+account+"-us-east-1/"+key, emptyZip(t))
		}
		if resource.Type == "AWS::ECS::TaskDefinition" {
			d.family = resource.Properties["Family"].(string)
			for _, tag := range resource.Properties["Tags"].([]any) {
				tag := tag.(map[string]any)
				d.tags[tag["Key"].(string)] = tag["Value"].(string)
			}
		}
	}
	body, err := json.Marshal(tmpl)
	if err != nil {
		t.Fatal(err)
	}
	cloudFormation(t, url.Values{"Action": {"CreateStack"}, "StackName": {"devin-outposts"}, "TemplateBody": {string(body)}, "Capabilities.member.1": {"CAPABILITY_IAM"}})
	var made struct {
		Resources []struct {
			Logical  string `xml:"LogicalResourceId"`
			Physical string `xml:"PhysicalResourceId"`
		} `xml:"DescribeStackResourcesResult>StackResources>member"`
	}
	if err := xml.Unmarshal(cloudFormation(t, url.Values{"Action": {"DescribeStackResources"}, "StackName": {"devin-outposts"}}), &made); err != nil {
		t.Fatal(err)
	}
	for _, resource := range made.Resources {
		d.physical[resource.Logical] = resource.Physical
	}
	for _, name := range []string{"Poll", "Claim", "Observe", "Sweep"} {
		var configuration struct {
			Environment struct{ Variables map[string]string }
		}
		answer := call(t, "lambda", http.MethodGet, "/2015-03-31/functions/"+d.physical[name]+"/configuration", nil)
		if err := json.Unmarshal(answer, &configuration); err != nil {
			t.Fatalf("configuration of %s: %s: %v", name, answer, err)
		}
		d.functions[strings.ToLower(name)] = configuration.Environment.Variables
	}
	return d
}

// prune takes out what moto cannot make, and then what refers to it.
func prune(t *testing.T, tmpl *template) {
	gone := map[string]string{}
	for id, resource := range tmpl.Resources {
		if why, out := left[resource.Type]; out {
			gone[id] = why
		}
	}
	for again := true; again; {
		again = false
		for id, resource := range tmpl.Resources {
			text, err := json.Marshal(resource)
			if err != nil {
				t.Fatal(err)
			}
			for other := range gone {
				if _, out := gone[id]; !out && bytes.Contains(text, []byte(`"`+other+`"`)) {
					gone[id], again = "refers to "+other, true
				}
			}
		}
	}
	var lines []string
	for id, why := range gone {
		lines = append(lines, fmt.Sprintf("%s (%s): %s", id, tmpl.Resources[id].Type, why))
		delete(tmpl.Resources, id)
	}
	slices.Sort(lines)
	t.Logf("not made in moto:\n  %s", strings.Join(lines, "\n  "))
}

// call sends a request that no SDK client of this module sends. moto finds the service by the credential's scope.
func call(t *testing.T, service, method, path string, body []byte) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, os.Getenv("MOTO_URL")+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/"+service+"/aws4_request, SignedHeaders=host, Signature=0")
	if service == "cloudformation" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s: %s (%v)", method, path, response.Status, answer, err)
	}
	return answer
}

func cloudFormation(t *testing.T, form url.Values) []byte {
	t.Helper()
	form.Set("Version", "2010-05-15")
	return call(t, "cloudformation", http.MethodPost, "/", []byte(form.Encode()))
}

func emptyZip(t *testing.T) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if _, err := w.Create("bootstrap"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
