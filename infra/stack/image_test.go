package stack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// build is an image as the CDK is told to build it.
type build struct {
	Arguments map[string]string `json:"dockerBuildArgs"`
	Platform  string            `json:"platform"`
	Directory string            `json:"directory"`
	files     []string          // in the directory
}

func readBuilds(out string) (list []build) {
	manifests, err := filepath.Glob(filepath.Join(out, "*.assets.json"))
	if err != nil || len(manifests) != 1 {
		panic(fmt.Sprintf("manifests of assets in %s: %v (%v)", out, manifests, err))
	}
	text, err := os.ReadFile(manifests[0])
	if err != nil {
		panic(err)
	}
	var manifest struct {
		Images map[string]struct{ Source build } `json:"dockerImages"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		panic(err)
	}
	for _, image := range manifest.Images {
		entries, err := os.ReadDir(filepath.Join(out, image.Source.Directory))
		if err != nil {
			panic(err)
		}
		for _, entry := range entries {
			image.Source.files = append(image.Source.files, entry.Name())
		}
		list = append(list, image.Source)
	}
	slices.SortFunc(list, func(a, b build) int { return strings.Compare(fmt.Sprint(a.Arguments), fmt.Sprint(b.Arguments)) })
	return list
}

func TestImagesAreBuiltFromTheirBaseForTheirProcessor(t *testing.T) {
	t.Parallel()
	usual, debian := "public.ecr.aws/e0h8a4b6/devin-cli:stable", "public.ecr.aws/docker/library/debian:13"
	for name, want := range map[string][]build{
		"default": {{Arguments: map[string]string{"BASE_IMAGE": usual, "WORKER": "outpost-worker-amd64"}, Platform: "linux/amd64"}},
		"second":  {{Arguments: map[string]string{"BASE_IMAGE": usual, "WORKER": "outpost-worker-arm64"}, Platform: "linux/arm64"}},
		"fullest": {
			{Arguments: map[string]string{"BASE_IMAGE": debian, "WORKER": "outpost-worker-amd64"}, Platform: "linux/amd64"},
			{Arguments: map[string]string{"BASE_IMAGE": usual, "WORKER": "outpost-worker-amd64"}, Platform: "linux/amd64"},
		},
	} {
		var got []build
		for _, b := range builds[name] {
			if diff := cmp.Diff([]string{"Dockerfile", b.Arguments["WORKER"]}, b.files); diff != "" {
				t.Errorf("%s: what the image is built from (-want +got):\n%s", name, diff)
			}
			got = append(got, build{Arguments: b.Arguments, Platform: b.Platform})
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(build{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Docker only warns of an argument that the Dockerfile does not take.
func TestTheDockerfileTakesWhatItIsBuiltWith(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../worker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range builds["default"] {
		for name := range b.Arguments {
			if !regexp.MustCompile(`(?m)^ARG ` + name + `=`).Match(text) {
				t.Errorf("worker/Dockerfile takes no argument %s", name)
			}
		}
	}
}

// A variable that the worker does not know would be passed over without a word.
func TestTheWorkerKnowsEveryVariableOfItsTaskDefinition(t *testing.T) {
	t.Parallel()
	var text []byte
	for _, file := range []string{"settings/settings.go", "custody/environ.go"} { // its own, and what it passes on to the session
		more, err := os.ReadFile("../../worker/internal/" + file)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, more...)
	}
	n := 0
	for _, id := range templates["fullest"].ofType("AWS::ECS::TaskDefinition") {
		container := templates["fullest"].resource(t, id)["ContainerDefinitions"].([]any)[0].(map[string]any)
		for _, variable := range container["Environment"].([]any) {
			name := variable.(map[string]any)["Name"].(string)
			n++
			if !regexp.MustCompile(`"` + name + `[,"]`).Match(text) {
				t.Errorf("the worker does not read %s", name)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d variables were looked at", n)
	}
}
