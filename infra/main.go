// Command infra synthesises the stack. `cdk` runs it (see cdk.json), and gives it the context and the output folder in the environment; run by itself it reads
// the context from cdk.json in the working directory and writes to the folder CDK_OUTDIR, without any network.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/devin-outposts/devin-outposts-aws/infra/settings"
	"github.com/devin-outposts/devin-outposts-aws/infra/stack"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	context, err := readContext()
	if err != nil {
		return err
	}
	wanted, err := settings.Load(context)
	if err != nil {
		return err
	}
	defer jsii.Close()
	app := awscdk.NewApp(&awscdk.AppProps{Context: &context, AnalyticsReporting: jsii.Bool(false)})
	if _, err := stack.New(app, stack.Props{Settings: wanted, Dist: "dist"}); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}

// readContext takes the context as `cdk` hands it over, or cdk.json's.
func readContext() (map[string]any, error) {
	context := map[string]any{}
	if handed, ok := os.LookupEnv("CDK_CONTEXT_JSON"); ok {
		if err := json.Unmarshal([]byte(handed), &context); err != nil {
			return nil, fmt.Errorf("read CDK_CONTEXT_JSON: %w", err)
		}
		return context, nil
	}
	var file struct{ Context map[string]any }
	text, err := os.ReadFile("cdk.json")
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("read the context from cdk.json: %w", err)
	}
	return file.Context, nil
}
