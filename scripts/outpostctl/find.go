package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/functions/wire"
	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
	"github.com/devin-outposts/devin-outposts-aws/shared/awserr"
	"github.com/devin-outposts/devin-outposts-aws/shared/config"
)

// version is stamped by a build.
var version = "dev"

// deployment is what was found.
type deployment struct {
	kit        functions.Kit
	env        config.Env
	clients    aws.Config
	deadEvents string // URL of the queue of task events that did not arrive; empty = not known
}

// find finds the deployment: the stack that is named, else the functions' variables, else the project's own stack.
func (t *tool) find(ctx context.Context) (*deployment, error) {
	clients, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	if clients.Region == "" {
		return nil, errors.New("no AWS region is set: set AWS_REGION, or AWS_PROFILE to a profile that has one")
	}
	if _, err := clients.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("no AWS credentials were found: sign in as for the AWS CLI (`aws configure`, `aws sso login`), or set AWS_PROFILE (%w)", err)
	}
	environ, deadEvents := os.Environ(), os.Getenv("EVENT_DEAD_LETTERS_URL")
	if t.stack != "" || os.Getenv("LEASE_TABLE") == "" {
		name := t.stack
		if name == "" {
			name = projectStack()
		}
		outputs, err := stackOutputs(ctx, cloudformation.NewFromConfig(clients), name, clients.Region)
		if err != nil {
			return nil, err
		}
		if environ, err = asEnvironment(name, outputs); err != nil {
			return nil, err
		}
		deadEvents = outputs["EventDeadLettersUrl"]
	}
	if t.apiURL != "" {
		environ = append(environ, "DEVIN_API_URL="+t.apiURL)
	}
	env, err := config.Load(environ)
	if err != nil {
		return nil, err
	}
	kit := wire.New(env, clients, wire.Function{Name: "outpostctl", Version: version, Now: t.now, Out: io.Discard})
	return &deployment{kit: kit, env: env, clients: clients, deadEvents: deadEvents}, nil
}

// projectStack is the name that cdk.json in the working directory gives to the stack, or the default.
func projectStack() string {
	var file struct{ Context struct{ StackName string } }
	text, err := os.ReadFile("cdk.json")
	if err != nil || json.Unmarshal(text, &file) != nil {
		return settings.Defaults().StackName
	}
	return cmp.Or(file.Context.StackName, settings.Defaults().StackName)
}

// stackOutputs reads the outputs of a stack.
func stackOutputs(ctx context.Context, api *cloudformation.Client, name, region string) (map[string]string, error) {
	out, err := api.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if (awserr.Code(err) == "ValidationError" && strings.Contains(err.Error(), "does not exist")) || (err == nil && len(out.Stacks) == 0) {
		return nil, fmt.Errorf("there is no CloudFormation stack %q in %s: name it with --stack, and its region with AWS_REGION", name, region)
	}
	if err != nil {
		return nil, fmt.Errorf("read the outputs of stack %s: %w", name, err)
	}
	outputs := map[string]string{}
	for _, o := range out.Stacks[0].Outputs {
		outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return outputs, nil
}

// outputNames maps the functions' variables to the stack's outputs. DEVIN_API_URL has a default.
var outputNames = []struct{ variable, output string }{
	{"ACCEPTOR_ID", "AcceptorId"}, {"CLUSTER", "ClusterName"}, {"LEASE_TABLE", "LeaseTableName"}, {"OFFER_QUEUE_URL", "OfferQueueUrl"},
	{"OUTPOSTS_PARAMETERS", "OutpostsParameters"}, {"TOKEN_KEY_ID", "TokenKeyArn"}, {"DEVIN_API_URL", "ApiUrl"},
}

// asEnvironment gives a stack's outputs as the functions' environment.
func asEnvironment(stack string, outputs map[string]string) ([]string, error) {
	var environ, missing []string
	for _, n := range outputNames {
		switch value := outputs[n.output]; {
		case value != "":
			environ = append(environ, n.variable+"="+value)
		case n.output != "ApiUrl":
			missing = append(missing, n.output)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("stack %s has no output %s: it is no stack of this project, or its deployment is not finished; name another with --stack, or remove a half-made one with `npx aws-cdk@2 destroy`",
			stack, strings.Join(missing, ", "))
	}
	return environ, nil
}
