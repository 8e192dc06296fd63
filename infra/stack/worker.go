package stack

import (
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsecs"
	"github.com/aws/jsii-runtime-go"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

// The worker's container, and how long it has to stop, in seconds: ECS kills it after stopTimeout, the longest that Fargate offers, and so the worker ends
// what it runs a little earlier.
const (
	containerName = "worker"
	stopTimeout   = 120
	stopSeconds   = stopTimeout - 10
)

// worker is what runs one outpost's sessions.
type worker struct {
	outpost  settings.Outpost
	family   string
	taskRole *string
	execRole *string
	// definition must exist before the configuration names it.
	definition awsecs.CfnTaskDefinition
}

func (d *Deployment) newWorkers() []worker {
	images, repositories := d.newImages()
	log := d.newLogGroup("WorkerLogs")
	execution := d.newExecutionRole(log, repositories)
	var workers []worker
	for i, outpost := range d.settings.Outposts {
		w := worker{outpost: outpost, family: d.settings.Family(outpost), taskRole: d.newTaskRole(outpost), execRole: execution}
		w.definition = d.newTaskDefinition(w, images[i].reference, log)
		workers = append(workers, w)
	}
	return workers
}

func (d *Deployment) newTaskDefinition(w worker, image string, log logGroup) awsecs.CfnTaskDefinition {
	architecture := map[settings.Architecture]string{settings.X64: "X86_64", settings.ARM64: "ARM64"}[w.outpost.Architecture]
	container := awsecs.CfnTaskDefinition_ContainerDefinitionProperty{
		Name:        jsii.String(containerName),
		Image:       jsii.String(image),
		Essential:   jsii.Bool(true),
		StopTimeout: jsii.Number(stopTimeout),
		// The worker drops to an unprivileged user itself, after it has decrypted the token.
		User:        jsii.String("0"),
		Environment: d.workerEnvironment(w.outpost),
		LogConfiguration: awsecs.CfnTaskDefinition_LogConfigurationProperty{
			LogDriver: jsii.String("awslogs"),
			Options: map[string]any{
				"awslogs-group": log.name, "awslogs-region": d.Region(), "awslogs-stream-prefix": w.outpost.ID,
				// A log service that hangs must not stop a session.
				"mode": "non-blocking", "max-buffer-size": "4m",
			},
		},
	}
	if w.outpost.SharedMemoryMiB > 0 {
		// Fargate knows no shared memory size; a tmpfs there is the way since platform version 1.4.0 got it in January 2026.
		container.LinuxParameters = awsecs.CfnTaskDefinition_LinuxParametersProperty{Tmpfs: []any{awsecs.CfnTaskDefinition_TmpfsProperty{
			ContainerPath: jsii.String("/dev/shm"), Size: jsii.Number(float64(w.outpost.SharedMemoryMiB)), MountOptions: jsii.Strings("nosuid", "nodev"),
		}}}
	}
	props := &awsecs.CfnTaskDefinitionProps{
		Family:                  jsii.String(w.family),
		RequiresCompatibilities: jsii.Strings("FARGATE"),
		NetworkMode:             jsii.String("awsvpc"),
		Cpu:                     jsii.String(strconv.Itoa(w.outpost.CPU)),
		Memory:                  jsii.String(strconv.Itoa(w.outpost.Memory)),
		RuntimePlatform: awsecs.CfnTaskDefinition_RuntimePlatformProperty{
			CpuArchitecture: jsii.String(architecture), OperatingSystemFamily: jsii.String("LINUX"),
		},
		TaskRoleArn:          w.taskRole,
		ExecutionRoleArn:     w.execRole,
		ContainerDefinitions: []any{container},
	}
	if w.outpost.EphemeralDiskGiB > 20 { // 20 is what a task has anyway, and asking for it is an error
		props.EphemeralStorage = awsecs.CfnTaskDefinition_EphemeralStorageProperty{SizeInGiB: jsii.Number(float64(w.outpost.EphemeralDiskGiB))}
	}
	definition := awsecs.NewCfnTaskDefinition(d.Stack, jsii.String(idOf("Worker", w.outpost)), props)
	awscdk.Tags_Of(definition).Add(jsii.String(settings.OutpostTag), jsii.String(w.outpost.ID), nil)
	for name, value := range w.outpost.Tags {
		awscdk.Tags_Of(definition).Add(jsii.String(name), jsii.String(value), nil)
	}
	d.accept(definition, "AwsSolutions-ECS2", "What stands in the environment is no secret, and is to be read in the console")
	return definition
}

// workerEnvironment is the part of the worker's environment that is the same for all sessions; the rest comes with each RunTask.
func (d *Deployment) workerEnvironment(outpost settings.Outpost) []any {
	w := outpost.Worker
	flag := func(on bool) string {
		if on {
			return "true"
		}
		return ""
	}
	var environment []any
	for _, variable := range [][2]string{
		{"AWS_REGION", *d.Region()},
		{"DEVIN_CHROME_PATH", w.ChromePath},
		{"DEVIN_OUTPOST_DESKTOP", flag(w.Desktop)},
		{"HTTPS_PROXY", w.HTTPSProxy},
		{"NO_PROXY", w.NoProxy},
		{"OUTPOST_ALLOW_SAME_USER", flag(w.AllowSameUser)},
		{"OUTPOST_ALLOW_SUDO", flag(w.AllowSudo)},
		{"OUTPOST_MODE", string(w.Mode)},
		{"OUTPOST_PASS_TASK_ROLE", flag(w.PassTaskRole)},
		{"OUTPOST_SETUP", w.Setup},
		{"OUTPOST_STATIC_URL", w.StaticURL},
		{"OUTPOST_STOP_SECONDS", strconv.Itoa(stopSeconds)},
		{"OUTPOST_USER", w.User},
		{"OUTPOST_WORKDIR", w.Workdir},
		{"SSL_CERT_FILE", w.SSLCertFile},
	} {
		if variable[1] != "" {
			environment = append(environment, awsecs.CfnTaskDefinition_KeyValuePairProperty{Name: jsii.String(variable[0]), Value: jsii.String(variable[1])})
		}
	}
	return environment
}
