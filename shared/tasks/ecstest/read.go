package ecstest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

type stopTaskRequest struct {
	Cluster string `json:"cluster"`
	Task    string `json:"task"`
	Reason  string `json:"reason"`
}

func (s *Server) stopTask(in stopTaskRequest) (any, *fault) {
	if refused := s.rightCluster(in.Cluster); refused != nil {
		return nil, refused
	}
	if len([]rune(in.Reason)) > 255 {
		return nil, invalid("reason must be at most 255 characters.")
	}
	t, ok := s.find(in.Task)
	if !ok {
		return nil, invalid("The referenced task was not found.")
	}
	if in.Reason == "" {
		in.Reason = "Task stopped by user"
	}
	t.tags = nil // StopTask takes them away (seen in the field)
	t.end(Death{StopCode: "UserInitiated", Reason: in.Reason})
	return map[string]any{"task": t.describe(epoch)}, nil
}

type describeTasksRequest struct {
	Cluster string   `json:"cluster"`
	Include []string `json:"include"`
	Tasks   []string `json:"tasks"`
}

func (s *Server) describeTasks(in describeTasksRequest) (any, *fault) {
	if refused := s.rightCluster(in.Cluster); refused != nil {
		return nil, refused
	}
	switch {
	case len(in.Tasks) == 0:
		return nil, invalid("Tasks cannot be empty.")
	case len(in.Tasks) > 100:
		return nil, invalid("Tasks cannot be more than 100.")
	}
	tasks, failures := []any{}, []any{}
	for _, name := range in.Tasks {
		t, ok := s.find(name)
		if ok && t.missDescribes > 0 {
			t.missDescribes--
			ok = false
		}
		if ok {
			described := t.describe(epoch)
			if slices.Contains(in.Include, "TAGS") {
				tags := []any{}
				for _, key := range slices.Sorted(maps.Keys(t.tags)) {
					tags = append(tags, map[string]any{"key": key, "value": t.tags[key]})
				}
				described["tags"] = tags
			}
			tasks = append(tasks, described)
			continue
		}
		arn := name
		if !strings.HasPrefix(arn, "arn:") {
			arn = s.arn("task", s.o.Cluster+"/"+name)
		}
		failures = append(failures, map[string]any{"arn": arn, "reason": "MISSING"})
	}
	return map[string]any{"tasks": tasks, "failures": failures}, nil
}

// find finds a task by its ARN or id.
func (s *Server) find(name string) (*task, bool) {
	t, ok := s.tasks[name[strings.LastIndexByte(name, '/')+1:]]
	if ok && strings.HasPrefix(name, "arn:") && t.arn != name {
		return nil, false
	}
	return t, ok
}

type listTasksRequest struct {
	Cluster           string `json:"cluster"`
	ContainerInstance string `json:"containerInstance"`
	DesiredStatus     string `json:"desiredStatus"`
	Family            string `json:"family"`
	LaunchType        string `json:"launchType"`
	MaxResults        *int   `json:"maxResults"`
	NextToken         string `json:"nextToken"`
	ServiceName       string `json:"serviceName"`
	StartedBy         string `json:"startedBy"`
}

func (s *Server) listTasks(in listTasksRequest) (any, *fault) {
	if refused := s.rightCluster(in.Cluster); refused != nil {
		return nil, refused
	}
	limit, after := 100, 0
	switch {
	case in.StartedBy != "" && (in.Family != "" || in.ServiceName != "" || in.ContainerInstance != "" || in.LaunchType != ""):
		return nil, invalid("startedBy must be the only filter.")
	case in.ServiceName != "" || in.ContainerInstance != "" || in.LaunchType != "":
		return nil, invalid("The local ECS filters by family, startedBy and desiredStatus only.")
	case in.MaxResults != nil:
		if limit = *in.MaxResults; limit < 1 || limit > 100 {
			return nil, invalid("maxResults must be between 1 and 100.")
		}
	}
	if in.NextToken != "" {
		var err error
		if after, err = strconv.Atoi(strings.TrimPrefix(in.NextToken, "after-")); err != nil {
			return nil, invalid("Invalid token %s", in.NextToken)
		}
	}
	if in.DesiredStatus == "" {
		in.DesiredStatus = "RUNNING"
	}
	arns, last := []string{}, after
	for _, t := range s.order {
		if t.seq <= after || t.desired != in.DesiredStatus || in.StartedBy != "" && t.startedBy != in.StartedBy || in.Family != "" && t.family() != in.Family {
			continue
		}
		if t.missLists > 0 {
			t.missLists--
			continue
		}
		if len(arns) == limit {
			return map[string]any{"taskArns": arns, "nextToken": "after-" + strconv.Itoa(last)}, nil
		}
		arns, last = append(arns, t.arn), t.seq
	}
	return map[string]any{"taskArns": arns}, nil
}
