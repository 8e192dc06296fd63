package readiness

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// Below these a session is likely to suffer.
const (
	leastDisk   = 5 << 30
	leastMemory = 2 << 30
	leastShared = 512 << 20 // what the vendor asks for its desktop image; Docker gives 64 MiB
	mostSkew    = time.Minute
)

func (m Machine) git(context.Context) Check {
	path, err := m.Look("git")
	if err != nil {
		return Check{"git", Fail, "not found on the PATH", "install git in the image: a session cannot clone its repositories without it"}
	}
	return Check{"git", Pass, path, ""}
}

func (m Machine) ffmpeg(context.Context) Check {
	path, err := m.Look("ffmpeg")
	if err != nil {
		return Check{"ffmpeg", Warn, "not found on the PATH", "install ffmpeg in the image to let sessions record the screen"}
	}
	return Check{"ffmpeg", Pass, path, ""}
}

// browsers are the usual names and places of Chrome and Chromium.
var (
	browsers = []string{"google-chrome", "google-chrome-stable", "chromium", "chromium-browser", "chrome"}
	places   = []string{"opt/google/chrome/chrome", "usr/lib/chromium/chromium", "usr/lib64/chromium-browser/chromium-browser",
		"Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "Applications/Chromium.app/Contents/MacOS/Chromium"}
	placePatterns = []string{"root/.cache/ms-playwright/chromium-*/chrome-linux/chrome", "home/*/.cache/ms-playwright/chromium-*/chrome-linux/chrome",
		"ms-playwright/chromium-*/chrome-linux/chrome"}
)

// FindChrome gives the path of Chrome or Chromium: the one named, or else the first in the usual places; empty if there is none.
func (m Machine) FindChrome() string {
	if m.Chrome != "" {
		if m.executable(strings.TrimPrefix(m.Chrome, "/")) {
			return m.Chrome
		}
		return ""
	}
	for _, name := range browsers {
		if found, err := m.Look(name); err == nil {
			return found
		}
	}
	candidates := places
	for _, pattern := range placePatterns {
		found, _ := fs.Glob(m.Root, pattern)
		candidates = append(candidates[:len(candidates):len(candidates)], found...)
	}
	for _, place := range candidates {
		if m.executable(place) {
			return "/" + place
		}
	}
	return ""
}

func (m Machine) executable(place string) bool {
	info, err := fs.Stat(m.Root, path.Clean(place))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func (m Machine) chrome(context.Context) Check {
	found := m.FindChrome()
	switch {
	case found != "":
		return Check{"chrome", Pass, found, ""}
	case m.Chrome != "":
		return Check{"chrome", Warn, m.Chrome + " (DEVIN_CHROME_PATH) is no executable file", "correct DEVIN_CHROME_PATH, or leave it out to have Chrome looked for"}
	}
	return Check{"chrome", Warn, "not found", "install chromium in the image, or set DEVIN_CHROME_PATH, to let sessions use a browser"}
}

func (m Machine) disk(context.Context) Check {
	place := m.Workdir
	total, free, err := m.Space(place)
	for err != nil && place != "/" { // the workspace may be yet to be made
		place = path.Dir(place)
		total, free, err = m.Space(place)
	}
	if err != nil {
		return Check{"disk", Warn, "unknown: " + err.Error(), ""}
	}
	return enough(Check{Name: "disk", Detail: fmt.Sprintf("%s free of %s at %s", size(free), size(total), m.Workdir),
		Advice: "give the task more ephemeral storage: repositories and builds need " + size(leastDisk) + " at least"}, free, leastDisk)
}

func (m Machine) memory(context.Context) Check {
	total, from := m.memoryLimit()
	if total == 0 {
		return Check{"memory", Warn, "unknown", ""}
	}
	return enough(Check{Name: "memory", Detail: size(total) + " " + from,
		Advice: "give the task more memory: a build or a browser needs " + size(leastMemory) + " at least"}, total, leastMemory)
}

// memoryLimit is what the container may use, or what the machine has.
func (m Machine) memoryLimit() (bytes uint64, from string) {
	for _, file := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(m.Root, file)
		if err != nil {
			continue
		}
		// Without a limit the file says "max", or a number near the top of the range.
		if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && n < 1<<60 {
			return n, "for the container"
		}
	}
	f, err := m.Root.Open("proc/meminfo")
	if err != nil {
		return 0, ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseUint(fields[1], 10, 64)
			return kib << 10, "in the machine"
		}
	}
	return 0, ""
}

func (m Machine) sharedMemory(context.Context) Check {
	total, _, err := m.Space("/dev/shm")
	if err != nil {
		return Check{"/dev/shm", Warn, "not there", "browsers will need --disable-dev-shm-usage"}
	}
	return enough(Check{Name: "/dev/shm", Detail: size(total),
		Advice: "on EC2 set linuxParameters.sharedMemorySize to 512 MiB or more; on Fargate it cannot be raised: start browsers with --disable-dev-shm-usage"}, total, leastShared)
}

// enough passes c, without its advice, when there is at least as much as needed; else it warns.
func enough(c Check, have, need uint64) Check {
	if have < need {
		c.Status = Warn
		return c
	}
	c.Status, c.Advice = Pass, ""
	return c
}

// clock compares ours with that of the distribution: requests to AWS are refused five minutes off, TLS fails a few days off.
func (m Machine) clock(ctx context.Context) Check {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, m.Static, nil)
	if err != nil {
		return Check{"clock", Warn, "unknown: " + err.Error(), ""}
	}
	answer, err := m.Client.Do(request)
	if err != nil {
		return Check{"clock", Warn, "unknown: " + err.Error(), "only matters if downloads or AWS calls fail"}
	}
	_ = answer.Body.Close()
	theirs, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return Check{"clock", Warn, "unknown: " + m.Static + " does not state its time", ""}
	}
	skew := m.Now().Sub(theirs).Round(time.Second)
	if skew > mostSkew || skew < -mostSkew {
		return Check{"clock", Warn, "off by " + skew.String(), "set the host's clock: AWS refuses requests that are five minutes off"}
	}
	return Check{"clock", Pass, "within " + mostSkew.String() + " of the distribution's", ""}
}

// gpu looks for what the NVIDIA container runtime puts into a container.
func (m Machine) gpu(context.Context) Check {
	devices, _ := fs.Glob(m.Root, "dev/nvidia[0-9]*")
	if len(devices) == 0 {
		return Check{"gpu", Warn, "no /dev/nvidia* though the task asks for a GPU", "use a GPU-optimised AMI, and a GPU resource requirement in the task definition"}
	}
	driver := "driver version unknown"
	if text, err := fs.ReadFile(m.Root, "proc/driver/nvidia/version"); err == nil {
		line, _, _ := strings.Cut(string(text), "\n")
		driver = strings.Join(strings.Fields(strings.TrimPrefix(line, "NVRM version:")), " ")
	}
	return Check{"gpu", Pass, fmt.Sprintf("%d devices, %s", len(devices), driver), ""}
}

func size(bytes uint64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}
