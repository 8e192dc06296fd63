package stack

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsecrassets"
	"github.com/aws/jsii-runtime-go"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

// image is what a container runs, and the ECR repository it comes from when that needs permission to pull.
type image struct {
	reference  string
	repository string
}

// goarch is Go's word for an architecture, which names the built worker.
func goarch(a settings.Architecture) string {
	if a == settings.ARM64 {
		return "arm64"
	}
	return "amd64"
}

// newImages gives each outpost its image. Those that are built are built once for each base and architecture, on the machine that deploys.
func (d *Deployment) newImages() (images []image, repositories []string) {
	built := map[[2]string]image{}
	var assets string // the one repository that all built images go to; its ARN is another token each time it is asked for
	for _, outpost := range d.settings.Outposts {
		var img image
		if outpost.Image != "" {
			img.reference = outpost.Image
			if parts := ecrImage.FindStringSubmatch(outpost.Image); parts != nil {
				img.repository = fmt.Sprintf("arn:%s:ecr:%s:%s:repository/%s", *d.Partition(), parts[2], parts[1], parts[3])
			}
		} else {
			recipe := [2]string{outpost.BaseImage, goarch(outpost.Architecture)}
			if _, done := built[recipe]; !done {
				built[recipe] = d.buildImage(fmt.Sprintf("Image%d", len(built)), outpost.BaseImage, outpost.Architecture)
			}
			img = built[recipe]
			if assets == "" {
				assets = img.repository
			}
			img.repository = assets
		}
		images = append(images, img)
		if img.repository != "" && !slices.Contains(repositories, img.repository) {
			repositories = append(repositories, img.repository)
		}
	}
	return images, repositories
}

func (d *Deployment) buildImage(id, base string, architecture settings.Architecture) image {
	platform, other := awsecrassets.Platform_LINUX_AMD64(), "arm64"
	if architecture == settings.ARM64 {
		platform, other = awsecrassets.Platform_LINUX_ARM64(), "amd64"
	}
	asset := awsecrassets.NewDockerImageAsset(d.Stack, jsii.String(id), &awsecrassets.DockerImageAssetProps{
		Directory: jsii.String(filepath.Join(d.dist, "worker")),
		Exclude:   jsii.Strings("outpost-worker-" + other),
		Platform:  platform,
		BuildArgs: &map[string]*string{
			"BASE_IMAGE": jsii.String(base),
			"WORKER":     jsii.String("outpost-worker-" + goarch(architecture)),
		},
	})
	return image{reference: *asset.ImageUri(), repository: *asset.Repository().RepositoryArn()}
}
