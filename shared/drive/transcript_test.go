package drive_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/shared/drive"
	"github.com/devin-outposts/devin-outposts-aws/shared/outposts"
	"github.com/devin-outposts/devin-outposts-aws/shared/session"
	"github.com/devin-outposts/devin-outposts-aws/shared/tasks"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what happens in the lives of testdata anew")

// TestLivesGoAsTheTranscriptsSay replays the lives in testdata. A line that begins with > is an input, and what follows it, indented, is what happened: calls with
// their answers, writes with what they change, and at last where the lease stands and what is waited for. Inputs that begin with >> happen while the call that the
// input before stalls at is on its way. Run with -update after adding or changing inputs.
func TestLivesGoAsTheTranscriptsSay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d lives: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			must(t, err)
			got := replay(t, string(text))
			if *update {
				must(t, os.WriteFile(file, []byte(got), 0o600))
				return
			}
			if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("if the change is wanted: go test ./shared/drive -update (-want +got):\n%s", diff)
			}
		})
	}
}

// replay carries out the inputs of a life and answers it with what happens now.
func replay(t *testing.T, text string) string {
	p := &player{world: newWorld(t)}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "> "):
			var during []string
			p.out = append(p.out, line)
			for j := i + 1; j < len(lines) && !strings.HasPrefix(lines[j], "> "); j++ {
				if strings.HasPrefix(lines[j], ">> ") {
					during = append(during, strings.TrimPrefix(lines[j], ">> "))
				}
			}
			p.input(strings.TrimPrefix(line, "> "), during)
		case strings.HasPrefix(line, "#") || line == "":
			p.out = append(p.out, line)
		case strings.HasPrefix(line, "  "), strings.HasPrefix(line, ">> "): // what happened, or happens within
		default:
			t.Fatalf("line %d is no input, output or comment: %s", i+1, line)
		}
	}
	return strings.Join(p.out, "\n") + "\n"
}

// player is a world that is told what to do in words.
type player struct {
	*world
	out  []string
	kept []session.Task // events that were held back
}

// flush writes down what has happened since.
func (p *player) flush() {
	for _, line := range p.trail {
		p.out = append(p.out, "  "+line)
	}
	p.trail = nil
}

func (p *player) input(command string, during []string) {
	command, stall, _ := strings.Cut(command, ", ")
	p.hook(stall, during)
	words := strings.Fields(command)
	arg := strings.Join(words[1:], " ")
	switch words[0] {
	case "pass":
		d, err := time.ParseDuration(arg)
		must(p.t, err)
		p.pass(d)
	case "devin":
		p.devin(arg)
	case "runtask":
		answer, times := arg, 1
		if before, n, many := strings.Cut(arg, " × "); many {
			_, err := fmt.Sscan(n, &times)
			must(p.t, err)
			answer = before
		}
		for range times {
			p.ecs.answers = append(p.ecs.answers, answer)
		}
	case "land":
		p.ecs.land()
	case "stray": // a task of the session starts that no lease names
		p.ecs.start(tasks.Launch{SessionID: devin, AttemptID: fmt.Sprint("stray-", len(p.ecs.tasks))})
	case "forget":
		t := p.ecs.find(arg)
		t.launch.SessionID = "forgotten"
	case "drain":
		p.config.MaxSessions = 0
	case "offer":
		p.look(drive.Job{SessionID: devin, Outpost: p.outpost(), Patience: 5 * time.Second})
	case "sweep":
		p.look(p.sweep())
	case "ecs": // a task moves and no event tells of it
		p.step(words[1:])
	case "hold": // the event comes later
		p.kept = append(p.kept, p.step(words[1:]))
	case "event":
		p.observe(p.step(words[1:]))
	case "deliver":
		held := p.kept
		p.kept = nil
		for _, t := range held {
			p.observe(t)
		}
	default:
		p.t.Fatalf("no such input: %s", command)
	}
	p.before, p.after = nil, nil
}

// hook has the drive die or stall: "dies before CALL", "dies after CALL", "stalls before CALL".
func (p *player) hook(stall string, during []string) {
	words := strings.SplitN(stall, " ", 3)
	if len(words) < 3 {
		return
	}
	hook := func(call string) error {
		if call != words[2] {
			return nil
		}
		p.before, p.after = nil, nil
		if words[0] == "dies" {
			p.note("dies %s %s", words[1], call)
			panic(crash{})
		}
		p.note("stalls %s %s", words[1], call)
		p.flush()
		for _, command := range during {
			p.out = append(p.out, ">> "+command)
			p.input(command, nil)
		}
		p.note("goes on")
		return nil
	}
	if words[1] == "before" {
		p.before = hook
	} else {
		p.after = hook
	}
}

func (p *player) devin(what string) {
	switch what {
	case "enqueues":
		p.enqueue()
	case "connects":
		must(p.t, p.server.SetStatus(devin, "running"))
	case "flashes":
		must(p.t, p.server.SetStatus(devin, "suspended"))
	case "suspends":
		must(p.t, p.server.Suspend(devin))
	case "terminates":
		must(p.t, p.server.Terminate(devin))
	case "resumes":
		must(p.t, p.server.Resume(devin))
	case "forgets":
		must(p.t, p.server.Vanish(devin))
	case "hears a late release":
		must(p.t, p.outpost().Fleet.(fleet).client.Release(context.Background(), devin, acceptor))
	case "gives it to another":
		must(p.t, p.server.Steal(devin, "another"))
	default:
		p.t.Fatalf("devin does not do that: %s", what)
	}
}

// step moves a task: "task-1 RUNNING" or "task-1 exits HOW".
func (p *player) step(words []string) session.Task {
	if words[1] == "exits" {
		return p.ecs.exit(words[0], words[2])
	}
	return p.ecs.move(words[0], words[1])
}

// observe does as the function that hears of events.
func (p *player) observe(t session.Task) {
	if l := p.lease(); !l.Active() || l.AttemptID() != t.AttemptID {
		p.note("the lease does not name %s: dropped", t.ARN)
		p.flush()
		return
	}
	p.look(drive.Job{SessionID: devin, Outpost: p.outpost(), Tasks: news(t, p.Now()), Patience: 20 * time.Second})
}

// sweep gathers what the sweep of every minute knows: the tasks of the cluster, and our claims.
func (p *player) sweep() drive.Job {
	j := drive.Job{SessionID: devin, Outpost: p.outpost(), Patience: 8 * time.Second}
	list, err := j.Outpost.Fleet.(fleet).client.List(context.Background(), outposts.ListQuery{Outpost: outpost, Phase: "claimed", AcceptorID: acceptor})
	must(p.t, err)
	l := p.lease()
	seen := map[string]time.Time{}
	sighted := func(key string) time.Time {
		first := p.sighted[key]
		if seen[key] = first; first.IsZero() {
			seen[key] = p.Now()
		}
		return first
	}
	for _, e := range list.Entries {
		j.Entry = drive.Entry(e, p.Now())
		if !l.Active() {
			j.Entry.Orphan = sighted("claim")
		}
	}
	named := false
	var found []session.Task
	for _, t := range p.ecs.tasks {
		if t.launch.SessionID != devin {
			continue
		}
		task := t.Task
		mine := l.Active() && (task.AttemptID == l.AttemptID() || task.ARN == l.TaskARN)
		named = named || mine
		if task.Live() && !mine {
			task.Orphan = sighted(task.ARN)
		}
		found = append(found, task)
	}
	if named || !l.Active() {
		j.Tasks = session.Tasks{Reading: session.Present, At: p.Now(), List: found}
	}
	p.sighted = seen
	return j
}

// look drives, and says where the lease stands.
func (p *player) look(job drive.Job) {
	var res drive.Result
	died := survive(func() { res = p.driver().Drive(context.Background(), job) })
	l, stands := p.lease(), "no lease"
	if l != nil {
		stands = fmt.Sprintf("%s, rev %d", l.State, l.Rev)
		if l.Outcome != session.Undecided {
			stands += ", " + string(l.Outcome)
		}
	}
	line := fmt.Sprintf("= %s  %s, slots %d", p.Now().Format(time.TimeOnly), stands, p.slots())
	switch {
	case died:
	case res.Err != nil:
		line += "; error: " + strings.ReplaceAll(res.Err.Error(), p.server.URL(), "")
	case res.Full:
		line += "; full"
	case res.Wait.Until.IsZero():
		line += "; done: " + res.Wait.Why
	default:
		line += fmt.Sprintf("; waits until %s: %s", res.Wait.Until.Format(time.TimeOnly), res.Wait.Why)
	}
	p.note("%s", line)
	wanted := slices.DeleteFunc(p.ecs.live(), func(arn string) bool {
		t := p.ecs.find(arn)
		return t.Desired == "STOPPED" || strings.HasPrefix(t.AttemptID, "stray")
	})
	if len(wanted) > 1 {
		p.t.Errorf("two tasks run for one session: %v", wanted)
	}
	p.flush()
}
