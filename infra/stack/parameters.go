package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsssm"
	"github.com/aws/jsii-runtime-go"
)

// newParameters writes each outpost's configuration, in the functions' own words, into an SSM parameter: a function's environment holds 4 KB in all, and
// warm functions read parameters again each minute.
//
// Task definitions are named by family, so that ECS takes the newest revision and a function that has not yet read a new parameter never names a revision
// that the deployment has just retired.
func (d *Deployment) newParameters() (names []string) {
	for _, w := range d.worker {
		var capacity []any
		for _, choice := range w.outpost.Capacity {
			groups := []any{d.network.group}
			for _, group := range w.outpost.SecurityGroups {
				groups = append(groups, group)
			}
			capacity = append(capacity, map[string]any{
				"name": string(choice), "provider": providers[choice], "task_definition": w.family, "container": containerName,
				"subnets": d.network.subnets, "security_groups": groups, "assign_public_ip": d.network.publicIP,
				"platform_version": w.outpost.PlatformVersion, "exec": w.outpost.Exec, "propagate_tags": true,
			})
		}
		name := d.settings.Parameter(w.outpost)
		parameter := awsssm.NewCfnParameter(d.Stack, jsii.String(idOf("Outpost", w.outpost)), &awsssm.CfnParameterProps{
			Name: jsii.String(name), Type: jsii.String("String"), Description: jsii.String("Configuration of one Devin outpost, written by the stack"),
			Value: d.ToJsonString(map[string]any{
				"outpost_id": w.outpost.ID, "token_secret": w.outpost.TokenSecret, "max_sessions": w.outpost.MaxSessions, "dispatch": string(w.outpost.Dispatch),
				"max_failures": w.outpost.MaxFailures, "max_session_hours": w.outpost.MaxSessionHours, "network_policy": string(w.outpost.NetworkPolicy),
				"capacity": capacity,
			}, nil),
		})
		parameter.AddResourceDependency(w.definition, nil)
		d.parameters = append(d.parameters, parameter)
		names = append(names, name)
	}
	return names
}
