package stack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
)

// nag checks a configuration against cdk-nag's rules and answers what it says. What is accepted, and why, stands beside the code it concerns (see accept).
func nag(wanted settings.Settings, dist string) []string {
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)})
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: jsii.Bool(true)}), nil)
	d, err := New(app, Props{Settings: wanted, Dist: dist})
	if err != nil {
		panic(err)
	}
	annotations := assertions.Annotations_FromStack(d.Stack)
	errors, warnings := annotations.FindError(jsii.String("*"), assertions.Match_AnyValue()), annotations.FindWarning(jsii.String("*"), assertions.Match_AnyValue())
	var found []string
	for _, message := range append(*errors, *warnings...) {
		found = append(found, fmt.Sprintf("%s: %v", *message.Id, message.Entry.Data)) //nolint:staticcheck // the type has moved, but the assertions still answer the old one
	}
	return found
}

func TestNagFindsNothingThatIsNotAccepted(t *testing.T) {
	t.Parallel()
	for name, found := range findings {
		if len(found) > 0 {
			t.Errorf("%s:\n%s", name, strings.Join(found, "\n"))
		}
	}
}
