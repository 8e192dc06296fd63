package events

import (
	"encoding/json"
	"math"
	"time"
)

// From this number on an instant is read as milliseconds. As seconds it would be the year 5138; as milliseconds it is 1973.
const firstMillisecond = 1e11

// taskEvent is a TaskStateChange as it comes: what has a form of its own, and must not spoil the rest, stays raw at first.
type taskEvent struct {
	TaskStateChange
	Time   json.RawMessage `json:"time"`
	Detail struct {
		Task
		Version    json.RawMessage `json:"version"`
		CreatedAt  json.RawMessage `json:"createdAt"`
		StartedAt  json.RawMessage `json:"startedAt"`
		StoppedAt  json.RawMessage `json:"stoppedAt"`
		Containers []struct {
			Container
			ExitCode json.RawMessage `json:"exitCode"`
		} `json:"containers"`
	} `json:"detail"`
}

// read gives the event with what could be read of the raw parts.
func (w taskEvent) read() TaskStateChange {
	e := w.TaskStateChange
	if at := instant(w.Time); at != nil {
		e.Time = *at
	}
	e.Detail = w.Detail.Task
	e.Detail.Version = whole(w.Detail.Version)
	e.Detail.CreatedAt, e.Detail.StartedAt, e.Detail.StoppedAt = instant(w.Detail.CreatedAt), instant(w.Detail.StartedAt), instant(w.Detail.StoppedAt)
	for _, c := range w.Detail.Containers {
		if json.Unmarshal(c.ExitCode, &c.Container.ExitCode) != nil {
			c.Container.ExitCode = nil // json leaves a pointer to 0, which would be a success
		}
		e.Detail.Containers = append(e.Detail.Containers, c.Container)
	}
	return e
}

// instant reads a point in time after 1970: RFC 3339, or Unix seconds or milliseconds as a number or a string of one. Anything else is nil.
func instant(raw json.RawMessage) *time.Time {
	var at time.Time
	if value, ok := number(raw); ok {
		if value >= firstMillisecond {
			value /= 1000
		}
		seconds, fraction := math.Modf(min(value, firstMillisecond*10))
		at = time.Unix(int64(seconds), int64(math.Round(fraction*1e6))*1e3) // a float of this size is exact to a quarter of a microsecond
	} else if json.Unmarshal(raw, &at) != nil {
		return nil
	}
	if at = at.UTC(); at.Unix() <= 0 || at.Year() > 9999 {
		return nil
	}
	return &at
}

// whole reads a whole number above 0, written as one, as a float or as a string of either. Anything else is 0.
func whole(raw json.RawMessage) int64 {
	var n int64
	if json.Unmarshal(raw, &n) == nil {
		return max(n, 0)
	}
	if value, ok := number(raw); ok && value > 0 && value < 1<<53 && value == math.Trunc(value) {
		return int64(value)
	}
	return 0
}

// number reads a JSON number, or a string that holds one.
func number(raw json.RawMessage) (float64, bool) {
	var n json.Number
	if json.Unmarshal(raw, &n) != nil {
		return 0, false
	}
	value, err := n.Float64()
	return value, err == nil
}
