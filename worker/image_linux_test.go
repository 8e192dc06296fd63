//go:build image

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestImageServesASessionOfTheFleet builds both images on a Debian made by debootstrap and runs each one's entry point as the
// first process of a container-like jail in its root, against the fleet simulator. It needs root, debootstrap, buildah and
// Debian's packages from the network: go test -tags image -run Image ./worker
func TestImageServesASessionOfTheFleet(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can debootstrap and enter an image")
	}
	base := debianBase(t)
	for _, file := range []string{"Dockerfile", "Dockerfile.gpu"} {
		t.Run(file, func(t *testing.T) {
			image := buildImage(t, base, file)
			container := strings.TrimSpace(tool(t, "buildah", "from", image))
			t.Cleanup(func() { tool(t, "buildah", "rm", container) })
			root := strings.TrimSpace(tool(t, "buildah", "mount", container))
			config := inspect(t, image)
			if diff := cmp.Diff(imageConfig{Entrypoint: []string{"/usr/local/bin/outpost-worker"}, User: "root", StopSignal: "SIGTERM", WorkingDir: "/"}, config); diff != "" {
				t.Errorf("the image's configuration (-want +got):\n%s", diff)
			}

			c := newClaimed(t)
			delete(c.env, "OUTPOST_ALLOW_SAME_USER")
			for _, name := range []string{"OUTPOST_WORKDIR", "PATH", "HOME"} { // as in the image
				delete(c.env, name)
			}
			c.env["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
			c.env["OUTPOST_MODE"] = "auto"
			cmd := c.command()
			cmd.Path = config.Entrypoint[0]
			cmd.Env = append(cmd.Env, "OUTPOST_TEST_ROOT="+root)
			r := start(t, inJail(t, cmd))
			got := strings.Fields(c.serves(r, "id -un; pwd; cat /proc/1/comm; git --version | cut -d' ' -f1; ls /workspace"))
			if diff := cmp.Diff([]string{"devin", "/workspace", "outpost-worker", "git", "repos"}, got); diff != "" {
				t.Errorf("in the session (-want +got):\n%s", diff)
			}
			if err := c.fleet.Terminate(c.id); err != nil {
				t.Fatal(err)
			}
			r.expect(0)
		})
	}
}

// debianBase makes the smallest Debian an image.
func debianBase(t *testing.T) (image string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "debian")
	tool(t, "debootstrap", "--variant=minbase", "bookworm", root)
	container := strings.TrimSpace(tool(t, "buildah", "from", "scratch"))
	defer tool(t, "buildah", "rm", container)
	tool(t, "buildah", "add", "--quiet", container, root, "/")
	image = "localhost/outpost-worker-test-base"
	tool(t, "buildah", "commit", "--quiet", container, image)
	t.Cleanup(func() { tool(t, "buildah", "rmi", "--force", image) })
	return image
}

// buildImage builds one of our Dockerfiles on base, with the binary under test, and without ffmpeg, which is large and not
// what is tested.
func buildImage(t *testing.T, base, file string) (image string) {
	t.Helper()
	context := t.TempDir()
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(context, "outpost-worker"), program, 0o644)
	image = "localhost/outpost-worker-test-" + strings.ToLower(strings.ReplaceAll(file, ".", "-"))
	tool(t, "buildah", "build", "--quiet", "--isolation", "chroot", "--network", "host", "--pull-never", "--build-arg", "BASE_IMAGE="+base, "--build-arg", "WORKER=outpost-worker",
		"--build-arg", "PACKAGES=git ca-certificates", "--tag", image, "--file", file, context)
	t.Cleanup(func() { tool(t, "buildah", "rmi", "--force", image) })
	return image
}

type imageConfig struct {
	Entrypoint             []string
	Cmd                    []string
	User                   string
	StopSignal, WorkingDir string
}

func inspect(t *testing.T, image string) imageConfig {
	t.Helper()
	var answer struct {
		OCIv1 struct{ Config imageConfig }
	}
	if err := json.Unmarshal([]byte(tool(t, "buildah", "inspect", "--type", "image", image)), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.OCIv1.Config
}

// tool runs a command and gives its standard output.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	var errors strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, errors.String())
	}
	return string(out)
}
