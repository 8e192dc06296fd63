//go:build linux

// Hostile is a remote that turns against its worker: it looks for secrets wherever a session could. What it is to look for
// stands, spelled backwards, in hunt.json in its current directory; what it found goes to report.json beside it. As a
// control it also plants a decoy, in the environment of a process of its own, which it must find.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

type hunt struct {
	Secrets   map[string]string // by name, backwards
	Folders   []string
	Endpoints []string // addresses at which credentials could be served
	Report    string
	Worker    int // its process; 0: our parent
	Host      int // the process that stands for everything outside the container; it knows all secrets
}

type report struct {
	Found       map[string][]string // where, by the secret's name
	Environment []string            // names
	Descriptors []string            // what is open beside the standard three
	Status      map[string]string   // of /proc/self/status
	Attach      string              // what ptrace said of the worker
	Signal      string              // what kill -0 said of the worker
	UID         int
	CoreLimit   uint64
}

var found = map[string][]string{}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "decoy" {
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it
		return
	}
	if os.Geteuid() == 0 && os.Getuid() != 0 { // started set-user-id
		must(syscall.Setgid(0))
		must(syscall.Setuid(0))
	}
	var h hunt
	text, err := os.ReadFile("hunt.json")
	must(err)
	must(json.Unmarshal(text, &h))
	if h.Worker == 0 {
		h.Worker = os.Getppid()
	}
	secrets := map[string][]byte{}
	for name, backwards := range h.Secrets {
		letters := []byte(backwards)
		slices.Reverse(letters)
		secrets[name] = letters
	}
	r := report{Found: found, UID: os.Getuid(), Status: map[string]string{}}
	look := func(place string, text []byte) {
		for name, secret := range secrets {
			if bytes.Contains(text, secret) && !slices.Contains(found[name], place) {
				found[name] = append(found[name], place)
			}
		}
	}

	r.Descriptors = descriptors() // before we open any
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		r.Environment = append(r.Environment, name)
		look("own environment", []byte(pair))
	}
	slices.Sort(r.Environment)
	status, err := os.ReadFile("/proc/self/status")
	must(err)
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		r.Status[name] = strings.TrimSpace(value)
	}
	var core syscall.Rlimit
	must(syscall.Getrlimit(syscall.RLIMIT_CORE, &core))
	r.CoreLimit = core.Max

	decoy := exec.Command("/proc/self/exe", "decoy")
	decoy.Env = []string{"DECOY=" + string(secrets["decoy"])}
	leash, err := decoy.StdinPipe()
	must(err)
	says, err := decoy.StdoutPipe()
	must(err)
	must(decoy.Start())
	_, err = says.Read(make([]byte, 1)) // it has an environment by then
	must(err)
	processes(h.Host, decoy.Process.Pid, look)
	_ = leash.Close()
	_ = decoy.Wait()

	for _, folder := range h.Folders {
		files(folder, look)
	}
	for _, address := range h.Endpoints {
		for _, path := range []string{"", "v2/credentials", "v4/credentials", "creds", "latest/meta-data/iam/security-credentials/"} {
			answer, err := http.Get("http://" + address + "/" + path)
			if err != nil {
				continue
			}
			text, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			look("credentials endpoint", text)
		}
	}
	r.Attach = fmt.Sprint(unix.PtraceSeize(h.Worker)) // which, unlike attaching, does not stop it
	r.Signal = fmt.Sprint(syscall.Kill(h.Worker, 0))

	out, err := json.Marshal(r)
	must(err)
	must(os.WriteFile(h.Report, out, 0o666))
	if h.Report == "report.json" { // once more as root, if that can be had
		again := h
		again.Report = "root.json"
		text, err := json.Marshal(again)
		must(err)
		must(os.Mkdir("root", 0o777))
		must(os.WriteFile("root/hunt.json", text, 0o666))
		climb := exec.Command("../become-root")
		climb.Dir = "root"
		climb.Env = []string{}
		text, err = climb.CombinedOutput()
		fmt.Printf("as root: %v %s\n", err, text)
	}
}

// descriptors names what is open beside the standard three and what Go itself opens.
func descriptors() []string {
	open := []string{}
	entries, err := os.ReadDir("/proc/self/fd")
	must(err)
	for _, entry := range entries {
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		fd, _ := strconv.Atoi(entry.Name())
		if err != nil || fd < 3 || strings.HasPrefix(target, "anon_inode:") || strings.HasPrefix(target, "/sys/fs/cgroup/") || strings.HasSuffix(target, "/fd") {
			continue
		}
		open = append(open, target)
	}
	return open
}

// processes looks into every other process but the host's, and calls the one it planted by that name.
func processes(host, decoy int, look func(string, []byte)) {
	entries, err := os.ReadDir("/proc")
	must(err)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() || pid == host {
			continue
		}
		who := "another process"
		if pid == decoy {
			who = "the decoy"
		}
		folder := "/proc/" + entry.Name() + "/"
		for _, name := range []string{"environ", "cmdline", "auxv", "maps"} {
			text, _ := os.ReadFile(folder + name)
			look(who+"'s "+name, text)
		}
		memory(folder, func(text []byte) { look(who+"'s memory", text) })
		open, _ := os.ReadDir(folder + "fd")
		for _, fd := range open {
			if info, err := os.Stat(folder + "fd/" + fd.Name()); err == nil && info.Mode().IsRegular() && info.Size() < 1<<20 {
				text, _ := os.ReadFile(folder + "fd/" + fd.Name())
				look(who+"'s descriptors", text)
			}
		}
	}
}

// memory reads the writable memory of a process.
func memory(folder string, look func([]byte)) {
	maps, err := os.ReadFile(folder + "maps")
	if err != nil {
		return
	}
	mem, err := os.Open(folder + "mem")
	if err != nil {
		return
	}
	defer mem.Close()
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var rights string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &rights); n < 3 || !strings.HasPrefix(rights, "rw") || to-from > 64<<20 {
			continue
		}
		text := make([]byte, to-from)
		if n, _ := mem.ReadAt(text, from); n > 0 {
			look(text[:n])
		}
	}
}

func files(folder string, look func(string, []byte)) {
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil
		}
		if info, err := entry.Info(); err != nil || info.Size() > 1<<20 {
			return nil
		}
		text, _ := os.ReadFile(path)
		look("file "+path, text)
		return nil
	})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
