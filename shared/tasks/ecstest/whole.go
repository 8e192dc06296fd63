package ecstest

import (
	"bytes"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// WholeAnswers is an HTTP client for the SDK that reads an answer whole before it gives it on. Servers on the same machine need that: smithy-go closes a request's
// body as soon as there is an answer (seen in 1.28.9), and when net/http has not yet noticed that the body was sent whole, it takes the closed body for a failed
// one and cuts the connection in the middle of the answer. Over a network an answer hardly ever comes that early.
func WholeAnswers() aws.HTTPClient { return whole{awshttp.NewBuildableClient()} }

type whole struct{ client aws.HTTPClient }

func (w whole) Do(r *http.Request) (*http.Response, error) {
	answer, err := w.client.Do(r)
	if err != nil {
		return answer, err
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	return answer, nil
}
