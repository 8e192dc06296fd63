package stack

import (
	"debug/elf"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/jsii-runtime-go"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

// Functions are the names of the functions; each has a folder of its own under functions/.
var Functions = []string{"poll", "claim", "observe", "sweep"}

type function struct {
	name, arn, log *string
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func (d *Deployment) newFunctions() map[string]function {
	environment := map[string]any{
		"ACCEPTOR_ID":         d.acceptorID(),
		"CLUSTER":             d.cluster.name,
		"DEVIN_API_URL":       d.settings.APIURL,
		"LEASE_TABLE":         d.table.name,
		"OFFER_QUEUE_URL":     d.queues.offers.url,
		"OUTPOSTS_PARAMETERS": strings.Join(d.newParameters(), ","),
		"TOKEN_KEY_ID":        d.key.arn,
	}
	// In MB. poll only waits and reads; the others do the cryptography of many short connections, and memory is what Lambda's CPU is sold by.
	memory := map[string]float64{"poll": 128, "claim": 256, "observe": 256, "sweep": 256}
	timeouts := d.settings.Timeouts()
	functions := map[string]function{}
	for _, name := range Functions {
		functions[name] = d.newFunction(name, memory[name], timeouts[name], environment)
	}
	return functions
}

// newFunction makes one function. It reserves no concurrency: a new account may have ten in all.
func (d *Deployment) newFunction(name string, memory float64, timeout int, environment map[string]any) function {
	log := d.newLogGroup(title(name) + "Logs")
	role := d.newFunctionRole(name, log)
	code := awss3assets.NewAsset(d.Stack, jsii.String(title(name)+"Code"), &awss3assets.AssetProps{Path: jsii.String(filepath.Join(d.dist, "functions", name))})
	architecture := map[settings.Architecture]string{settings.ARM64: "arm64", settings.X64: "x86_64"}[d.settings.FunctionArchitecture]
	f := awslambda.NewCfnFunction(d.Stack, jsii.String(title(name)), &awslambda.CfnFunctionProps{
		Description:   jsii.String("Devin outposts: " + name),
		Runtime:       jsii.String("provided.al2023"),
		Architectures: jsii.Strings(architecture),
		Handler:       jsii.String("bootstrap"),
		Code:          awslambda.CfnFunction_CodeProperty{S3Bucket: code.S3BucketName(), S3Key: code.S3ObjectKey()},
		Role:          role.AttrArn(),
		MemorySize:    jsii.Number(memory),
		Timeout:       jsii.Number(float64(timeout)),
		Environment:   awslambda.CfnFunction_EnvironmentProperty{Variables: environment},
		LoggingConfig: awslambda.CfnFunction_LoggingConfigProperty{LogGroup: log.name},
	})
	// What a parameter asks for, the roles allow by then; and no function looks for a parameter that is still to be made.
	for _, parameter := range d.parameters {
		parameter.AddResourceDependency(role, nil)
		f.AddResourceDependency(parameter, nil)
	}
	return function{name: f.Ref(), arn: f.AttrArn(), log: log.name}
}

// acceptorID names this deployment to Devin: stable as long as the stack lives, and never the same for two stacks, since two holders of one id would take each
// other's claims. A stack's id ends in a GUID.
func (d *Deployment) acceptorID() *string {
	guid := awscdk.Fn_Select(jsii.Number(2), awscdk.Fn_Split(jsii.String("/"), d.StackId(), nil))
	return jsii.String("aws-" + *d.Account() + "-" + *d.Region() + "-" + *guid)
}

// checkBuilt sees to it that what is deployed was built, and for the right processor: Lambda and ECS would notice only when they start it.
func checkBuilt(dist string, s settings.Settings) error {
	machines := map[settings.Architecture]elf.Machine{settings.ARM64: elf.EM_AARCH64, settings.X64: elf.EM_X86_64}
	check := func(path string, wanted settings.Architecture, remedy string) error {
		file, err := elf.Open(path)
		if err != nil {
			return fmt.Errorf("read built file %s (run `%s` first): %w", path, remedy, err)
		}
		defer file.Close()
		if file.Machine != machines[wanted] {
			return fmt.Errorf("%s is built for %v, but is to run on %s: run `%s`", path, file.Machine, wanted, remedy)
		}
		return nil
	}
	for _, name := range Functions {
		remedy := "export FUNCTION_ARCH=" + goarch(s.FunctionArchitecture) + "; make build" // exported, since the targets that need the files build them again
		if err := check(filepath.Join(dist, "functions", name, "bootstrap"), s.FunctionArchitecture, remedy); err != nil {
			return err
		}
	}
	for _, outpost := range s.Outposts {
		if outpost.Image != "" {
			continue
		}
		if err := check(filepath.Join(dist, "worker", "outpost-worker-"+goarch(outpost.Architecture)), outpost.Architecture, "make build"); err != nil {
			return err
		}
	}
	return nil
}
