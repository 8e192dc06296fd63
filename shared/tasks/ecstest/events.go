package ecstest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// maxEvents is more than a life brings: one each for PROVISIONING, PENDING, RUNNING, the wish to stop, DEPROVISIONING and STOPPED.
const maxEvents = 8

// Event is a state change that is told.
type Event struct {
	TaskARN string
	Status  string // lastStatus
	Version int64
	JSON    []byte // as EventBridge delivers it
}

// Delivery is what becomes of an event.
type Delivery int

// The deliveries. Late is after the task's next event, or after all of them.
const (
	Once Delivery = iota
	Twice
	Late
	Never
)

// Deliver decides about every event from now on; nil = each comes once.
func (s *Server) Deliver(how func(Event) Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.deliver = how
}

// deliver tells of a task's state changes, in their order unless told otherwise.
func (t *task) deliver() {
	defer t.server.lives.Done()
	var late []Event
	for e := range t.events {
		how := Once
		t.lock(func() {
			if t.server.faults.deliver != nil {
				how = t.server.faults.deliver(e)
			}
		})
		switch how {
		case Late:
			late = append(late, e)
			continue
		case Once:
			t.tell(e)
		case Twice:
			t.tell(e)
			t.tell(e)
		}
		for _, e := range late {
			t.tell(e)
		}
		late = nil
	}
	for _, e := range late {
		t.tell(e)
	}
}

func (t *task) tell(e Event) {
	if t.server.ctx.Err() == nil {
		t.server.o.OnEvent(e.JSON)
	}
}

// event is the task's state as EventBridge tells it.
func (t *task) event() Event {
	now := t.server.o.Now().UTC()
	sum := sha256.Sum256([]byte(t.id + string(rune(t.version))))
	id := hex.EncodeToString(sum[:16])
	detail := t.describe(iso)
	detail["updatedAt"] = iso(now)
	text, err := json.Marshal(map[string]any{
		"version": "0", "id": id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:], "detail-type": "ECS Task State Change",
		"source": "aws.ecs", "account": Account, "time": now.Format(time.RFC3339), "region": Region, "resources": []string{t.arn}, "detail": detail,
	})
	if err != nil {
		panic(err) // nothing in it can fail to encode, but for overrides that were decoded before
	}
	return Event{TaskARN: t.arn, Status: t.status, Version: t.version, JSON: text}
}

// describe is the task as ECS describes it; stamp writes times.
func (t *task) describe(stamp func(time.Time) any) map[string]any {
	launchType := "FARGATE"
	if t.provider != "FARGATE" && t.provider != "FARGATE_SPOT" {
		launchType = "EC2"
	}
	d := map[string]any{
		"attachments": []any{}, "attributes": []any{}, "availabilityZone": Region + "a", "capacityProviderName": t.provider,
		"clusterArn": t.server.arn("cluster", t.server.o.Cluster), "containers": t.containers(), "cpu": "1024", "memory": "2048",
		"createdAt": stamp(t.createdAt), "desiredStatus": t.desired, "lastStatus": t.status, "enableExecuteCommand": t.exec,
		"group": "family:" + t.family(), "launchType": launchType, "overrides": t.overrides, "startedBy": t.startedBy, "taskArn": t.arn,
		"taskDefinitionArn": t.server.arn("task-definition", t.definition), "version": t.version,
	}
	if launchType == "FARGATE" {
		d["platformVersion"] = platformVersion
	}
	for name, at := range map[string]time.Time{
		"startedAt": t.startedAt, "stoppingAt": t.stoppingAt, "executionStoppedAt": t.executionEnd, "stoppedAt": t.stoppedAt,
	} {
		if !at.IsZero() {
			d[name] = stamp(at)
		}
	}
	for name, text := range map[string]string{"stopCode": t.stopCode, "stoppedReason": t.reason} {
		if text != "" {
			d[name] = text
		}
	}
	return d
}

func (t *task) containers() []any {
	if t.noContainers {
		return []any{}
	}
	status := "PENDING"
	switch t.status {
	case "RUNNING":
		status = "RUNNING"
	case "DEPROVISIONING", "STOPPED":
		status = "STOPPED"
	}
	c := map[string]any{
		"containerArn": t.server.arn("container", t.server.o.Cluster+"/"+t.id+"/1"), "cpu": "0", "image": "local/" + t.family(), "lastStatus": status, "name": t.d.Container,
		"networkInterfaces": []any{}, "taskArn": t.arn,
	}
	if t.exit != nil && status == "STOPPED" {
		c["exitCode"] = *t.exit
	}
	if t.containerReason != "" && status == "STOPPED" {
		c["reason"] = t.containerReason
	}
	return []any{c}
}
