package stack

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

var update = flag.Bool("update", false, "write the golden files in testdata anew")

// The configurations that are judged, as a user would write them in cdk.json. They are synthesised once, before the tests, because all CDK calls share one
// process of Node and must not overlap.
var configurations = map[string]string{
	"default": `{"outposts": [{"id": "outpost_env-example", "tokenSecret": "devin-outposts/token"}]}`,
	"fullest": `{
		"stackName": "aws-everything", "functionArchitecture": "x64", "apiUrl": "https://api.devin.example", "alarms": "all",
		"alarmEmail": "oncall@example.com", "dashboard": true, "logRetentionDays": 365, "removalPolicy": "retain", "terminationProtection": true,
		"tags": {"team": "platform"},
		"network": {"cidr": "10.7.0.0/20", "nat": true, "endpoints": ["s3", "ecr.api", "ecr.dkr", "logs", "kms", "ssmmessages"], "flowLogs": true},
		"outposts": [
			{"id": "outpost_env-one", "tokenSecret": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:devin/one-AbCdEf",
			 "tokenSecretKey": "arn:aws:kms:eu-west-1:123456789012:key/11111111-2222-3333-4444-555555555555",
			 "maxSessions": 50, "dispatch": "poll", "maxFailures": 5, "maxSessionHours": 48, "networkPolicy": "ignore", "capacity": ["fargate-spot", "fargate"],
			 "architecture": "arm64", "cpu": 4096, "memory": 16384, "ephemeralDiskGiB": 100, "sharedMemoryMiB": 2048,
			 "image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/worker:7", "securityGroups": ["sg-0123456789abcdef0"], "exec": true, "platformVersion": "1.4.0",
			 "worker": {"mode": "cli", "workdir": "/work", "user": "devin", "setup": "/opt/setup.sh", "allowSudo": true, "chromePath": "/usr/bin/chromium", "desktop": true,
			   "staticUrl": "https://static.devin.example/remote", "httpsProxy": "http://proxy:3128", "noProxy": "localhost", "sslCertFile": "/etc/ca.pem"},
			 "tags": {"cost-centre": "42"}},
			{"id": "outpost_env-two", "tokenSecret": "devin/two", "maxSessions": 0, "taskRole": "arn:aws:iam::123456789012:role/sessions", "ephemeralDiskGiB": 20,
			 "sharedMemoryMiB": 0, "worker": {"allowSameUser": true, "passTaskRole": true}},
			{"id": "outpost_env-three", "tokenSecret": "devin/two", "baseImage": "public.ecr.aws/docker/library/debian:13", "dispatch": "poll"}
		]}`,
	"own-vpc": `{"alarms": "none", "dashboard": false,
		"network": {"vpcId": "vpc-0123456789abcdef0", "subnets": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"], "assignPublicIp": false},
		"outposts": [{"id": "outpost_env-example", "tokenSecret": "devin-outposts/token", "dispatch": "poll"}]}`,
	"own-topic": `{"alarmTopic": "arn:aws:sns:eu-west-1:123456789012:mine", "outposts": [{"id": "outpost_env-example", "tokenSecret": "devin-outposts/token"}]}`,
	"second":    `{"stackName": "devin-outposts-2", "outposts": [{"id": "outpost_env-example", "tokenSecret": "devin-outposts/token", "architecture": "arm64"}]}`,
	"longest":   longest(),
}

// longest is as much as one stack may hold, with the longest names there can be.
func longest() string {
	var outposts []string
	for i := range 8 {
		id := fmt.Sprintf("outpost_env-%d%s", i, strings.Repeat("x", 115))
		outposts = append(outposts, fmt.Sprintf(`{"id": %q, "tokenSecret": "%s-%d", "taskRole": "arn:aws:iam::123456789012:role/%s-%d"}`,
			id, strings.Repeat("s", 60), i, strings.Repeat("r", 60), i))
	}
	return fmt.Sprintf(`{"stackName": "ecs-%s", "outposts": [%s]}`, strings.Repeat("n", 124), strings.Join(outposts, ","))
}

// templates are the synthesised configurations, by name; builds the images that are built for them; findings what cdk-nag says of them.
var (
	templates = map[string]template{}
	builds    = map[string][]build{}
	findings  = map[string][]string{}
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		defer jsii.Close()
		dist, err := os.MkdirTemp("", "dist")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dist)
		for _, architecture := range []settings.Architecture{settings.ARM64, settings.X64} {
			stubDist(filepath.Join(dist, string(architecture)), architecture)
		}
		reordered := load(configurations["fullest"])
		slices.Reverse(reordered.Outposts)
		wanted := map[string]settings.Settings{"reordered": reordered}
		for name, text := range configurations {
			wanted[name] = load(text)
		}
		for name, wanted := range wanted {
			out := filepath.Join(dist, "cdk.out", name)
			t, err := synthesise(wanted, filepath.Join(dist, string(wanted.FunctionArchitecture)), out)
			if err != nil {
				panic(fmt.Sprintf("synthesise %s: %v", name, err))
			}
			templates[name] = t
			builds[name] = readBuilds(out)
		}
		for _, name := range []string{"default", "fullest"} {
			wanted := load(configurations[name])
			findings[name] = nag(wanted, filepath.Join(dist, string(wanted.FunctionArchitecture)))
		}
		return m.Run()
	}())
}

func load(text string) settings.Settings {
	var context map[string]any
	if err := json.Unmarshal([]byte(text), &context); err != nil {
		panic(err)
	}
	wanted, err := settings.Load(context)
	if err != nil {
		panic(err)
	}
	return wanted
}

func synthesise(wanted settings.Settings, dist, out string) (template, error) {
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Outdir: jsii.String(out)})
	d, err := New(app, Props{Settings: wanted, Dist: dist})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(app.Synth(nil).GetStackByName(d.StackName()).Template())
	if err != nil {
		return nil, err
	}
	// The CDK knows the limits of many properties, but only warns.
	var report struct{ PluginReports []any }
	warnings, err := os.ReadFile(filepath.Join(out, "validation-report.json"))
	if err == nil {
		err = json.Unmarshal(warnings, &report)
	}
	if err != nil || len(report.PluginReports) > 0 {
		return nil, fmt.Errorf("the CDK warns: %s (%w)", warnings, err)
	}
	var t template
	return t, json.Unmarshal(text, &t)
}

// stubDist makes what `make build` would, as far as the stack looks at it: the header of an ELF file tells the architecture. The bytes never change, and so the
// assets' hashes in the golden files do not.
func stubDist(dist string, functions settings.Architecture) {
	write := func(name string, content []byte) {
		path := filepath.Join(dist, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(path, content, 0o755); err != nil {
			panic(err)
		}
	}
	for _, name := range Functions {
		write("functions/"+name+"/bootstrap", elfHeader(functions))
	}
	write("worker/outpost-worker-amd64", elfHeader(settings.X64))
	write("worker/outpost-worker-arm64", elfHeader(settings.ARM64))
	write("worker/Dockerfile", []byte("FROM scratch\n"))
}

func elfHeader(architecture settings.Architecture) []byte {
	machine := map[settings.Architecture]uint16{settings.X64: 62, settings.ARM64: 183}[architecture]
	header := make([]byte, 64)
	copy(header, "\x7fELF\x02\x01\x01") // 64 bits, little-endian, version 1
	binary.LittleEndian.PutUint16(header[16:], 2)
	binary.LittleEndian.PutUint16(header[18:], machine)
	binary.LittleEndian.PutUint32(header[20:], 1)
	binary.LittleEndian.PutUint16(header[52:], 64)
	return header
}
