package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world is a folder with a cdk.json and stand-ins for aws and npx, which write down how they are called.
type world struct {
	t   *testing.T
	dir string
}

func newWorld(t *testing.T, outpost string) world {
	t.Helper()
	w := world{t, t.TempDir()}
	w.write("cdk.json", `{"context": {"outposts": [{"id": "`+outpost+`", "tokenSecret": "t"}]}}`, 0o644)
	w.write("bin/npx", "#!/bin/sh\necho \"npx $*\" >>\"$CALLS\"\n", 0o755)
	w.write("bin/aws", `#!/bin/sh
echo "aws $*" >>"$CALLS"
case "$*" in
sts*) echo 123456789012 ;;
iam*) echo "An error occurred (InvalidInput): Service role name AWSServiceRoleForECS has been taken in this account" >&2; exit 254 ;;
ssm*) test -z "$NOT_BOOTSTRAPPED" ;;
esac
`, 0o755)
	return w
}

func (w world) write(name, text string, mode os.FileMode) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
}

// run answers what was called, what was said, and whether it succeeded.
func (w world) run(input string, environment ...string) (calls []string, said string, ok bool) {
	w.t.Helper()
	c := exec.Command("sh", "run.sh")
	c.Stdin = strings.NewReader(input)
	c.Env = append([]string{"PATH=" + w.dir + "/bin:" + os.Getenv("PATH"), "CALLS=" + w.dir + "/calls", "PROJECT=" + w.dir, "AWS_REGION=eu-west-1"}, environment...)
	output, err := c.CombinedOutput()
	text, _ := os.ReadFile(filepath.Join(w.dir, "calls"))
	return strings.Split(strings.TrimSpace(string(text)), "\n"), string(output), err == nil
}

var before = []string{
	"aws sts get-caller-identity --query Account --output text",
	"aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com",
	"aws ssm get-parameter --name /cdk-bootstrap/hnb659fds/version --region eu-west-1",
}

func TestDeployShowsTheDifferenceAndAsks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		input, environment string
		after              []string
		ok                 bool
	}{
		"yes":            {"y\n", "X=", []string{"npx --yes aws-cdk@2 diff", "npx --yes aws-cdk@2 deploy --require-approval never"}, true},
		"no":             {"n\n", "X=", []string{"npx --yes aws-cdk@2 diff"}, false},
		"nobody there":   {"", "X=", []string{"npx --yes aws-cdk@2 diff"}, false},
		"asked not to":   {"", "YES=1", []string{"npx --yes aws-cdk@2 diff", "npx --yes aws-cdk@2 deploy --require-approval never"}, true},
		"bootstrap, yes": {"y\ny\n", "NOT_BOOTSTRAPPED=1", []string{"npx --yes aws-cdk@2 bootstrap aws://123456789012/eu-west-1", "npx --yes aws-cdk@2 diff", "npx --yes aws-cdk@2 deploy --require-approval never"}, true},
		"bootstrap, no":  {"n\n", "NOT_BOOTSTRAPPED=1", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls, said, ok := newWorld(t, "outpost_env-1").run(test.input, test.environment)
			if diff := cmp.Diff(append(append([]string{}, before...), test.after...), calls); diff != "" || ok != test.ok || ok != strings.Contains(said, "deployed; ") {
				t.Errorf("success %v, calls (-want +got):\n%s\n%s", ok, diff, said)
			}
		})
	}
}

func TestDeployNeedsDockerOnlyToBuildAnImage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		template, docker string
		ok               bool
	}{
		"to build, no Docker": {`"Image": "cdk-hnb659fds-container-assets-1"`, "exit 1", false},
		"to build, Docker":    {`"Image": "cdk-hnb659fds-container-assets-1"`, "exit 0", true},
		"nothing to build":    {`"Image": "team/worker:1"`, "exit 1", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "outpost_env-1")
			w.write("cdk.out/x.template.json", test.template, 0o644)
			w.write("bin/docker", "#!/bin/sh\n"+test.docker+"\n", 0o755)
			_, said, ok := w.run("y\n")
			if ok != test.ok || ok == strings.Contains(said, "Docker does not answer") {
				t.Errorf("success %v: %s", ok, said)
			}
		})
	}
}

func TestDeployRefusesTheExampleAsItStands(t *testing.T) {
	t.Parallel()
	calls, said, ok := newWorld(t, "outpost_env-example").run("y\n")
	if ok || len(calls) != 1 || calls[0] != "" || !strings.Contains(said, `cdk.json still names the outpost "outpost_env-example"`) {
		t.Errorf("calls %q, said %s", calls, said)
	}
}
