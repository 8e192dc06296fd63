package outpoststest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
)

var built struct {
	sync.Mutex
	binary []byte
}

// BuildRemote builds the devin-remote that goes with the simulator, for the
// machine it runs on, and returns its path in dir. It needs the go command and
// this module's source. A process builds once, however often it asks.
func BuildRemote(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "devin-remote")
	built.Lock()
	defer built.Unlock()
	if built.binary == nil {
		command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", path,
			"github.com/devin-outposts/devin-outposts-aws/shared/outposts/outpoststest/devinremote")
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
		if _, file, _, known := runtime.Caller(0); known && filepath.IsAbs(file) {
			command.Dir = filepath.Dir(file)
		}
		if output, err := command.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build devin-remote: %w\n%s", err, output)
		}
		binary, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("build devin-remote: %w", err)
		}
		built.binary = binary
		return path, nil
	}
	// A process forked while the file is open for writing would keep it busy.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, built.binary, 0o700); err != nil {
		return "", fmt.Errorf("write devin-remote: %w", err)
	}
	return path, nil
}
