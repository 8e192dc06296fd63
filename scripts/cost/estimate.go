package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

type prices struct {
	Region, Date, Currency, Sources string
	Fargate                         struct {
		X86        rate    `json:"X86_64"`
		ARM        rate    `json:"ARM64"`
		DiskGBHour float64 `json:"disk_gb_hour"`
		FreeDiskGB float64 `json:"free_disk_gb"`
		SpotShare  float64 `json:"spot_share"`
	}
	IPv4Hour float64 `json:"public_ipv4_hour"`
	Lambda   struct {
		ARM            float64 `json:"arm64_gb_second"`
		X86            float64 `json:"x86_64_gb_second"`
		MillionRequest float64 `json:"million_requests"`
		FreeGBSeconds  float64 `json:"free_gb_seconds"`
		FreeRequests   float64 `json:"free_requests"`
	}
	Scheduler struct {
		Million float64 `json:"million_invocations"`
		Free    float64 `json:"free_invocations"`
	}
	SQS struct {
		Million float64 `json:"million_requests"`
		Free    float64 `json:"free_requests"`
	}
	DynamoDB struct {
		Reads  float64 `json:"million_reads"`
		Writes float64 `json:"million_writes"`
	}
	KeyMonth     float64 `json:"kms_key_month"`
	SecretMonth  float64 `json:"secret_month"`
	ECRGBMonth   float64 `json:"ecr_gb_month"`
	NATHour      float64 `json:"nat_hour"`
	EndpointHour float64 `json:"endpoint_hour"`
	CloudWatch   struct {
		Alarm          float64 `json:"alarm_month"`
		FreeAlarms     float64 `json:"free_alarms"`
		Metric         float64 `json:"metric_month"`
		FreeMetrics    float64 `json:"free_metrics"`
		Dashboard      float64 `json:"dashboard_month"`
		FreeDashboards float64 `json:"free_dashboards"`
		LogGB          float64 `json:"log_gb"`
		FreeLogGB      float64 `json:"free_log_gb"`
	}
}

type rate struct {
	VCPUHour float64 `json:"vcpu_hour"`
	GBHour   float64 `json:"gb_hour"`
}

// What an idle deployment does, as far as the template does not say it.
const (
	minutes = 730 * 60 // in a month, as AWS counts
	hours   = 730

	// Seconds that an invocation takes. One that watches looks for the next from 60 s on, every 5 s, and ends when it sees it.
	watchSeconds = 65
	pollSeconds  = 0.4
	sweepSeconds = 0.3
	// Lambda keeps five requests of 20 s open for each mapping of a queue (AWS, "Using Lambda with Amazon SQS").
	queueRequests = 5 * 3
	// Reads of sweep for each outpost and minute, and of poll for each listing; writes of poll for each listing and each invocation.
	sweepReads, listReads, listWrites, pollWrites = 3.5, 2, 1, 2
	watchListings                                 = 4
	// Bytes of log that Lambda itself writes for an invocation, and a listing does.
	invocationBytes, listingBytes = 450, 350
	// GB of a built image; the vendor's small one, and ours.
	imageGB = 0.5
)

// line is one kind of cost, in USD.
type line struct {
	What string `json:"what"`
	// Alone is the cost where nothing else in the account uses the free tiers that do not end; Shared where they are used up.
	Alone  float64 `json:"alone"`
	Shared float64 `json:"free_tiers_used_up"`
}

type estimate struct {
	Idle          []line `json:"idle_month"`
	IdleTotal     line   `json:"idle_month_total"`
	Observability line   `json:"observability_month"`
	SessionHours  []hour `json:"session_hour"`
}

type hour struct {
	Outpost        string  `json:"outpost_id"`
	Machine        string  `json:"machine"`
	OnDemand, Spot float64 `json:",omitempty"`
}

func beyond(used, free float64) float64 { return math.Max(0, used-free) }

func (d deployment) estimate(p prices) estimate {
	var e estimate
	add := func(what string, alone, shared float64) {
		if shared > 0 {
			e.Idle = append(e.Idle, line{what, alone, shared})
			e.IdleTotal.Alone += alone
			e.IdleTotal.Shared += shared
		}
	}
	watching, listings, secrets := false, 0.0, []string{}
	for _, o := range d.outposts {
		listings++
		if o.Dispatch == "watch" {
			watching = true
			listings += watchListings - 1
		}
		if !slices.Contains(secrets, o.Secret) {
			secrets = append(secrets, o.Secret)
		}
	}
	add("KMS key", float64(d.keys)*p.KeyMonth, float64(d.keys)*p.KeyMonth)
	add("secret with the account token (yours)", float64(len(secrets))*p.SecretMonth, float64(len(secrets))*p.SecretMonth)

	pollFor := pollSeconds
	if watching {
		pollFor = watchSeconds
	}
	perGBSecond := p.Lambda.ARM
	if d.functions["Poll"].architecture == "x86_64" {
		perGBSecond = p.Lambda.X86
	}
	gbSeconds := minutes * (pollFor*d.functions["Poll"].memoryMB + sweepSeconds*d.functions["Sweep"].memoryMB) / 1024
	requests := minutes * float64(d.schedules)
	add("functions poll and sweep",
		beyond(gbSeconds, p.Lambda.FreeGBSeconds)*perGBSecond+beyond(requests, p.Lambda.FreeRequests)/1e6*p.Lambda.MillionRequest,
		gbSeconds*perGBSecond+requests/1e6*p.Lambda.MillionRequest)
	add("schedule", beyond(requests, p.Scheduler.Free)/1e6*p.Scheduler.Million, requests/1e6*p.Scheduler.Million)
	polls := float64(d.mappings) * queueRequests * minutes
	add("polling of the offer queue by Lambda", beyond(polls, p.SQS.Free)/1e6*p.SQS.Million, polls/1e6*p.SQS.Million)
	table := minutes / 1e6 * ((float64(len(d.outposts))*sweepReads+listings*listReads)*p.DynamoDB.Reads + (listings*listWrites+pollWrites)*p.DynamoDB.Writes)
	add("lease table", table, table)
	if d.image {
		add(fmt.Sprintf("the built image's %.1f GB in ECR", imageGB), imageGB*p.ECRGBMonth, imageGB*p.ECRGBMonth)
	}
	add("NAT gateway", float64(d.nats)*hours*p.NATHour, float64(d.nats)*hours*p.NATHour)
	add("VPC endpoints", float64(d.endpoints)*hours*p.EndpointHour, float64(d.endpoints)*hours*p.EndpointHour)
	e.IdleTotal.What = "idle, without observability"
	e.Observability = d.observability(p, requests, listings)
	e.SessionHours = d.sessionHours(p)
	return e
}

// observability is what alarms, the heartbeat metric of each outpost, the dashboard and the idle logs cost.
func (d deployment) observability(p prices, requests, listings float64) line {
	c := p.CloudWatch
	alarms, metrics, dashboards := float64(d.alarms), float64(len(d.outposts)), float64(d.dashboards)
	logs := (requests*invocationBytes + listings*minutes*listingBytes) / 1e9
	return line{
		What: "observability: alarms, metrics, dashboard, logs",
		Alone: beyond(alarms, c.FreeAlarms)*c.Alarm + beyond(metrics, c.FreeMetrics)*c.Metric + beyond(dashboards, c.FreeDashboards)*c.Dashboard +
			beyond(logs, c.FreeLogGB)*c.LogGB,
		Shared: alarms*c.Alarm + metrics*c.Metric + dashboards*c.Dashboard + logs*c.LogGB,
	}
}

func (d deployment) sessionHours(p prices) []hour {
	var out []hour
	for _, t := range d.tasks {
		r := p.Fargate.X86
		if t.architecture == "ARM64" {
			r = p.Fargate.ARM
		}
		machine := t.vcpu*r.VCPUHour + t.gb*r.GBHour
		rest := beyond(t.diskGB, p.Fargate.FreeDiskGB) * p.Fargate.DiskGBHour
		for _, o := range d.outposts {
			if o.ID == t.outpost && o.public {
				rest += p.IPv4Hour
			}
		}
		out = append(out, hour{
			Outpost: t.outpost, Machine: fmt.Sprintf("%g vCPU, %g GB, %s", t.vcpu, t.gb, strings.ToLower(t.architecture)),
			OnDemand: machine + rest, Spot: machine*p.Fargate.SpotShare + rest,
		})
	}
	slices.SortFunc(out, func(a, b hour) int { return strings.Compare(a.Outpost, b.Outpost) })
	return out
}

func (e estimate) markdown(p prices) string {
	var out strings.Builder
	fmt.Fprintf(&out, "List prices of %s on %s, in %s. The second column is for accounts whose free tiers are used up elsewhere.\n\n", p.Region, p.Date, p.Currency)
	out.WriteString("| a month in which nothing happens | alone in its account | free tiers used up |\n| --- | ---: | ---: |\n")
	row := func(l line, mark string) {
		fmt.Fprintf(&out, "| %s%s%s | %s%.2f%s | %s%.2f%s |\n", mark, l.What, mark, mark, l.Alone, mark, mark, l.Shared, mark)
	}
	for _, l := range e.Idle {
		row(l, "")
	}
	row(e.IdleTotal, "**")
	row(e.Observability, "")
	row(line{"total", e.IdleTotal.Alone + e.Observability.Alone, e.IdleTotal.Shared + e.Observability.Shared}, "**")
	out.WriteString("\n| an hour of one session | on demand | Spot, about |\n| --- | ---: | ---: |\n")
	for _, h := range e.SessionHours {
		fmt.Fprintf(&out, "| %s: %s | %.3f | %.3f |\n", h.Outpost, h.Machine, h.OnDemand, h.Spot)
	}
	return out.String()
}
