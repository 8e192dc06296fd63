//go:build testaws

package testaws

import (
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
)

// moto answers the configuration of clients that talk to moto.
func moto(t *testing.T) aws.Config {
	t.Helper()
	url := os.Getenv("MOTO_URL")
	if url == "" {
		t.Fatal("MOTO_URL is not set; run scripts/testaws/run.sh, which starts moto")
	}
	c, err := config.LoadDefaultConfig(t.Context(), config.WithBaseEndpoint(url))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
