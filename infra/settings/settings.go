// Package settings holds what a user may say about a deployment: the keys of cdk.json's context, their defaults, and what makes them legal.
//
// The types here are the one source: the JSON schema, the commented example and docs/configuration.md are generated from them. [Load] reports every mistake at
// once, each with its key, its value and what would be right.
package settings

// Settings are the context keys of the whole stack. The zero value is not legal; start from [Load].
type Settings struct {
	// The outposts this stack serves, one entry each. At least one.
	Outposts []Outpost `json:"outposts" jsonschema:"required,minItems=1"`

	// Name of the CloudFormation stack. Two stacks with different names live side by side in one account and region.
	StackName string `json:"stackName"`
	// Processor architecture of the four functions. With x64, set FUNCTION_ARCH=amd64 in the environment when building and deploying.
	FunctionArchitecture Architecture `json:"functionArchitecture" jsonschema:"enum=arm64,enum=x64"`
	// Base URL of Devin's API.
	APIURL string `json:"apiUrl"`
	// The network the sessions' tasks run in. The functions never stand in it.
	Network Network `json:"network"`

	// Which alarms are made: `none`, `essential` (those that mean sessions wait or fail, on AWS's own metrics where they suffice), or `all`.
	// Each alarm costs about 0.10 USD a month.
	Alarms AlarmSet `json:"alarms" jsonschema:"enum=none,enum=essential,enum=all"`
	// Mail address that is subscribed to the alarms' topic. The subscription must be confirmed from the mail.
	AlarmEmail string `json:"alarmEmail"`
	// ARN of a topic of your own that alarms are sent to, instead of one made by the stack.
	AlarmTopic string `json:"alarmTopic"`
	// Whether a CloudWatch dashboard is made. The first three of an account are free, each further one costs 3 USD a month.
	Dashboard bool `json:"dashboard"`

	// How long logs are kept, in days. One of CloudWatch's periods.
	LogRetentionDays int `json:"logRetentionDays"`
	// What happens to the lease table, the key and the logs when the stack is destroyed: `destroy` or `retain`. They hold hours of state.
	RemovalPolicy Removal `json:"removalPolicy" jsonschema:"enum=destroy,enum=retain"`
	// Whether CloudFormation refuses to delete the stack until this is set to false and deployed.
	TerminationProtection bool `json:"terminationProtection"`
	// Tags put on everything in the stack that can bear them.
	Tags map[string]string `json:"tags"`
}

// Outpost is one outpost and the machines its sessions run on.
type Outpost struct {
	// The outpost's id in Devin, `outpost_env-…`.
	ID string `json:"id" jsonschema:"required"`
	// Name or full ARN of the Secrets Manager secret with the service user's token (`cog_…`), as a plain string or as JSON with a `token` key.
	TokenSecret string `json:"tokenSecret" jsonschema:"required"`
	// ARN of the KMS key the secret is encrypted with, if it is one of your own. Empty: AWS's key for Secrets Manager.
	TokenSecretKey string `json:"tokenSecretKey"`

	// Sessions served at the same time. 0 drains the outpost: it takes no new session and lets the running ones end.
	MaxSessions int `json:"maxSessions" jsonschema:"minimum=0,maximum=1000"`
	// How sessions are found: `watch` follows the queue's stream (a session is seen within seconds), `poll` lists once a minute and costs less while idle.
	Dispatch Dispatch `json:"dispatch" jsonschema:"enum=watch,enum=poll"`
	// Failed starts after which a session is given back to the queue.
	MaxFailures int `json:"maxFailures" jsonschema:"minimum=1,maximum=10"`
	// Age at which a session's task is stopped, in hours.
	MaxSessionHours int `json:"maxSessionHours" jsonschema:"minimum=1,maximum=336"`
	// What becomes of sessions that ask for a network policy, which nothing in this stack enforces: `refuse` gives them back, `ignore` runs them without it.
	NetworkPolicy NetworkPolicy `json:"networkPolicy" jsonschema:"enum=refuse,enum=ignore"`

	// Capacity for the tasks, in the order it is tried: `fargate`, `fargate-spot`. Spot costs about a third, and can be taken away with two minutes' notice.
	Capacity []Capacity `json:"capacity" jsonschema:"minItems=1,enum=fargate,enum=fargate-spot"`
	// Processor architecture of the tasks. Devin's own images and Chrome are at home on x64.
	Architecture Architecture `json:"architecture" jsonschema:"enum=x64,enum=arm64"`
	// CPU units of a task; 1024 are one virtual CPU.
	CPU int `json:"cpu"`
	// Memory of a task in MiB. Fargate sells it in pairs with `cpu`.
	Memory int `json:"memory"`
	// Disk of a task in GiB, gone with the task. The first 20 are free.
	EphemeralDiskGiB int `json:"ephemeralDiskGiB" jsonschema:"minimum=20,maximum=200"`
	// Fargate's platform version: `LATEST`, or a number from 1.4.0, the first that has all that a task here uses.
	PlatformVersion string `json:"platformVersion"`
	// Size of /dev/shm in MiB, taken from the task's memory when used. Chrome wants 512. 0: Docker's 64.
	SharedMemoryMiB int `json:"sharedMemoryMiB" jsonschema:"minimum=0"`

	// Image with our worker as its entry point, as a registry reference. Empty: built from worker/Dockerfile when the stack is deployed, which needs Docker.
	Image string `json:"image"`
	// Base image that worker/Dockerfile adds our worker to. Only without `image`.
	BaseImage string `json:"baseImage"`

	// ARN of a role of your own for the tasks; the stack's key lets it decrypt the outpost's connect tokens. Empty: a role that may do that and nothing else.
	TaskRole string `json:"taskRole"`
	// Security groups of your own that the tasks get besides the stack's.
	SecurityGroups []string `json:"securityGroups"`
	// Starts new tasks with ECS Exec, for debugging in a running task, and opens their role to what that needs; a `taskRole` of yours needs the four
	// `ssmmessages` actions itself. Off: it is denied explicitly.
	Exec bool `json:"exec"`
	// How the worker runs the session.
	Worker Worker `json:"worker"`
	// Tags put on the outpost's task definition and each of its tasks, besides `devin:outpost` (its id) and the stack's.
	Tags map[string]string `json:"tags"`
}

// Worker are the worker's own settings, given to its container as environment variables.
type Worker struct {
	// `remote` downloads devin-remote, `cli` runs the image's `devin` command, `auto` takes the command where there is one.
	Mode WorkerMode `json:"mode" jsonschema:"enum=auto,enum=remote,enum=cli"`
	// Directory the session's repositories live in. Empty: the worker's default.
	Workdir string `json:"workdir"`
	// Unprivileged user that the session runs as. Empty: the worker's default.
	User string `json:"user"`
	// Path of a script in the image that runs before the session starts. Empty: none.
	Setup string `json:"setup"`
	// Lets the session gain privileges inside its container, with sudo for example.
	AllowSudo bool `json:"allowSudo"`
	// Lets the session run as the worker's own user, which can then read the worker's secrets. Only for images that offer no other way.
	AllowSameUser bool `json:"allowSameUser"`
	// Lets the session use the task's role. Only makes sense with a `taskRole` of your own.
	PassTaskRole bool `json:"passTaskRole"`
	// Path of Chrome or Chromium in the image. Empty: Devin looks for it.
	ChromePath string `json:"chromePath"`
	// Tells Devin that the image has a desktop.
	Desktop bool `json:"desktop"`
	// Where devin-remote is downloaded from. Empty: Devin's own address.
	StaticURL string `json:"staticUrl"`
	// Proxy for HTTPS, passed on to the session. Empty: none.
	HTTPSProxy string `json:"httpsProxy"`
	// Hosts that are reached without the proxy.
	NoProxy string `json:"noProxy"`
	// File with the certificate authorities to trust, in the image.
	SSLCertFile string `json:"sslCertFile"`
}

// Network says where tasks run. Without an id the stack makes a VPC of its own with public subnets and no NAT gateway, which costs nothing while idle.
type Network struct {
	// Id of a VPC of your own. Empty: one is made.
	VPCID string `json:"vpcId"`
	// Subnets of that VPC to run tasks in. Required with `vpcId`, meaningless without.
	Subnets []string `json:"subnets"`
	// Whether tasks get a public address while they run. Switch it off only where subnets reach the internet through a NAT gateway or endpoints.
	AssignPublicIP bool `json:"assignPublicIp"`
	// Address range of the VPC that is made.
	CIDR string `json:"cidr"`
	// Puts the tasks of the VPC that is made into private subnets behind one NAT gateway (about 33 USD a month, and its traffic).
	NAT bool `json:"nat"`
	// AWS services that tasks reach through endpoints inside the VPC that is made. `s3` is free; `ecr.api`, `ecr.dkr`, `logs`, `kms` and `ssmmessages` cost
	// about 15 USD a month each.
	Endpoints []Endpoint `json:"endpoints" jsonschema:"enum=s3,enum=ecr.api,enum=ecr.dkr,enum=logs,enum=kms,enum=ssmmessages"`
	// Records the VPC's connections in a log group. Only for the VPC that is made.
	FlowLogs bool `json:"flowLogs"`
}

// The closed sets of words. Each is checked by [Load].
type (
	// Architecture is a processor architecture: x64 or arm64.
	Architecture string
	// Dispatch says how waiting sessions are found: watch or poll.
	Dispatch string
	// NetworkPolicy says what becomes of sessions with a network policy: refuse or ignore.
	NetworkPolicy string
	// Capacity is a kind of machine: fargate or fargate-spot.
	Capacity string
	// WorkerMode says how the worker runs the session: auto, remote or cli.
	WorkerMode string
	// AlarmSet says which alarms are made: none, essential or all.
	AlarmSet string
	// Removal says what happens to state when the stack is destroyed: destroy or retain.
	Removal string
	// Endpoint is the short name of an AWS service with a VPC endpoint.
	Endpoint string
)

// The words.
const (
	X64   Architecture = "x64"
	ARM64 Architecture = "arm64"

	Watch Dispatch = "watch"
	Poll  Dispatch = "poll"

	Refuse NetworkPolicy = "refuse"
	Ignore NetworkPolicy = "ignore"

	Fargate     Capacity = "fargate"
	FargateSpot Capacity = "fargate-spot"

	Auto   WorkerMode = "auto"
	Remote WorkerMode = "remote"
	CLI    WorkerMode = "cli"

	NoAlarms        AlarmSet = "none"
	EssentialAlarms AlarmSet = "essential"
	AllAlarms       AlarmSet = "all"

	Destroy Removal = "destroy"
	Retain  Removal = "retain"
)

// Defaults are the settings before the user says anything.
func Defaults() Settings {
	return Settings{
		StackName:            "devin-outposts",
		FunctionArchitecture: ARM64,
		APIURL:               "https://api.devin.ai",
		Network:              Network{AssignPublicIP: true, CIDR: "10.0.0.0/16"},
		Alarms:               EssentialAlarms,
		Dashboard:            true,
		LogRetentionDays:     30,
		RemovalPolicy:        Destroy,
	}
}

// OutpostDefaults are an outpost's settings before the user says anything.
func OutpostDefaults() Outpost {
	return Outpost{
		MaxSessions: 10, Dispatch: Watch, MaxFailures: 3, MaxSessionHours: 24, NetworkPolicy: Refuse,
		Capacity: []Capacity{Fargate}, Architecture: X64, CPU: 2048, Memory: 8192, EphemeralDiskGiB: 30, PlatformVersion: "LATEST", SharedMemoryMiB: 512,
		BaseImage: "public.ecr.aws/e0h8a4b6/devin-cli:stable",
		Worker:    Worker{Mode: Auto},
	}
}
