package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// deployment is what a template makes, as far as it costs money.
type deployment struct {
	functions  map[string]function // by id in the template
	outposts   []outpost
	tasks      []task
	schedules  int
	mappings   int // of queues to functions; each polls its queue
	keys       int
	nats       int
	endpoints  int // network interfaces of endpoints: one for each subnet
	alarms     int
	dashboards int
	image      bool // one is built and stored
}

type function struct {
	memoryMB     float64
	architecture string
}

// outpost is the part of the configuration in SSM that matters here.
type outpost struct {
	ID     string `json:"outpost_id"`
	Secret string `json:"token_secret"`
	// Dispatch is watch or poll.
	Dispatch string `json:"dispatch"`
	public   bool
}

type task struct {
	family       string
	outpost      string
	architecture string
	vcpu, gb     float64
	diskGB       float64
}

type resource struct {
	Type       string
	Properties struct {
		Architectures    []string
		MemorySize       float64
		Name             json.RawMessage
		Value            json.RawMessage
		Family           string
		CPU              string `json:"Cpu"`
		Memory           string
		EphemeralStorage struct {
			SizeInGiB float64
		}
		RuntimePlatform struct {
			CPUArchitecture string `json:"CpuArchitecture"`
		}
		ContainerDefinitions []struct{ Image json.RawMessage }
		Tags                 json.RawMessage // a list, or an object in SSM parameters
		VpcEndpointType      string
		SubnetIds            []json.RawMessage
	}
}

func read(text []byte) (deployment, error) {
	var template struct{ Resources map[string]json.RawMessage }
	if err := json.Unmarshal(text, &template); err != nil {
		return deployment{}, err
	}
	d := deployment{functions: map[string]function{}}
	for id, raw := range template.Resources {
		var r resource
		var kind struct{ Type string }
		if err := json.Unmarshal(raw, &kind); err != nil {
			return d, fmt.Errorf("resource %s: %w", id, err)
		}
		switch kind.Type {
		case "AWS::Lambda::Function", "AWS::SSM::Parameter", "AWS::ECS::TaskDefinition", "AWS::EC2::VPCEndpoint":
			if err := json.Unmarshal(raw, &r); err != nil {
				return d, fmt.Errorf("resource %s: %w", id, err)
			}
		}
		r.Type = kind.Type
		if err := d.add(id, r); err != nil {
			return d, fmt.Errorf("resource %s: %w", id, err)
		}
	}
	if len(d.functions) == 0 || len(d.outposts) == 0 {
		return d, fmt.Errorf("it has %d functions and %d outposts; is it a template of this stack?", len(d.functions), len(d.outposts))
	}
	return d, nil
}

func (d *deployment) add(id string, r resource) error {
	p := r.Properties
	switch r.Type {
	case "AWS::Lambda::Function":
		d.functions[id] = function{memoryMB: p.MemorySize, architecture: p.Architectures[0]}
	case "AWS::SSM::Parameter":
		var o outpost
		value := flatten(p.Value)
		if err := json.Unmarshal([]byte(value), &o); err != nil {
			return err
		}
		o.public = strings.Contains(value, `"assign_public_ip":true`)
		d.outposts = append(d.outposts, o)
	case "AWS::ECS::TaskDefinition":
		cpu, err := strconv.ParseFloat(p.CPU, 64)
		if err != nil {
			return err
		}
		memory, err := strconv.ParseFloat(p.Memory, 64)
		if err != nil {
			return err
		}
		t := task{family: p.Family, architecture: p.RuntimePlatform.CPUArchitecture, vcpu: cpu / 1024, gb: memory / 1024, diskGB: p.EphemeralStorage.SizeInGiB}
		var tags []struct{ Key, Value string }
		if err := json.Unmarshal(p.Tags, &tags); err != nil {
			return err
		}
		for _, tag := range tags {
			if tag.Key == "devin:outpost" {
				t.outpost = tag.Value
			}
		}
		d.tasks = append(d.tasks, t)
		d.image = d.image || strings.Contains(string(p.ContainerDefinitions[0].Image), "container-assets")
	case "AWS::Scheduler::Schedule":
		d.schedules++
	case "AWS::Lambda::EventSourceMapping":
		d.mappings++
	case "AWS::KMS::Key":
		d.keys++
	case "AWS::EC2::NatGateway":
		d.nats++
	case "AWS::EC2::VPCEndpoint":
		if p.VpcEndpointType == "Interface" {
			d.endpoints += len(p.SubnetIds)
		}
	case "AWS::CloudWatch::Alarm":
		d.alarms++
	case "AWS::CloudWatch::Dashboard":
		d.dashboards++
	}
	return nil
}

var reference = regexp.MustCompile(`\{[^{}]*"(?:Ref|Fn::GetAtt)"[^{}]*\}`)

// flatten turns a joined string into text with a word in place of each reference.
func flatten(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var join struct {
		Parts []json.RawMessage `json:"Fn::Join"`
	}
	var parts []json.RawMessage
	if json.Unmarshal(value, &join) != nil || len(join.Parts) != 2 || json.Unmarshal(join.Parts[1], &parts) != nil {
		return ""
	}
	for _, part := range parts {
		var piece string
		if json.Unmarshal(part, &piece) != nil {
			piece = reference.ReplaceAllString(string(part), "reference")
		}
		text += piece
	}
	return text
}
