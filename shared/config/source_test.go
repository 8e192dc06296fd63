package config

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/sivchari/kumo"
)

// parameters is a real client of an SSM in this process, which counts the calls and can be broken.
type parameters struct {
	*ssm.Client
	calls  int
	most   int
	broken error
}

func newParameters(t *testing.T) *parameters {
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	return &parameters{Client: ssm.New(ssm.Options{Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})}
}

func (p *parameters) GetParameters(ctx context.Context, in *ssm.GetParametersInput, opts ...func(*ssm.Options)) (*ssm.GetParametersOutput, error) {
	p.calls++
	p.most = max(p.most, len(in.Names))
	if p.broken != nil {
		return nil, p.broken
	}
	return p.Client.GetParameters(ctx, in, opts...)
}

func (p *parameters) put(t *testing.T, name, value string) {
	t.Helper()
	if _, err := p.PutParameter(t.Context(), &ssm.PutParameterInput{Name: &name, Value: &value, Type: types.ParameterTypeString, Overwrite: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
}

func numbered(n int) string { return strings.Replace(least, `"o1"`, fmt.Sprintf(`"o%d"`, n), 1) }

func ids(list []Outpost) (ids []string) {
	for _, o := range list {
		ids = append(ids, o.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestOutpostsInParametersAreReadAgainEachMinuteAndTheLastGoodOnesKept(t *testing.T) {
	t.Parallel()
	api := newParameters(t)
	now := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	s := &Source{Env: Env{}, SSM: api, Now: func() time.Time { return now }}
	for n := range 12 {
		name := fmt.Sprint("/outposts/", n)
		api.put(t, name, numbered(n))
		s.Env.Parameters = append(s.Env.Parameters, name)
	}
	first, err := s.Outposts(t.Context())
	if err != nil || len(first) != 12 || api.calls != 2 || api.most != 10 {
		t.Fatalf("%d outposts in %d calls of up to %d names: %v", len(first), api.calls, api.most, err)
	}

	now = now.Add(time.Minute - time.Second)
	api.put(t, "/outposts/0", numbered(100))
	if again, err := s.Outposts(t.Context()); err != nil || api.calls != 2 || !slices.Equal(ids(again), ids(first)) {
		t.Errorf("within the minute: %v in %d calls: %v", ids(again), api.calls, err)
	}
	now = now.Add(time.Second)
	changed, err := s.Outposts(t.Context())
	if err != nil || !slices.Contains(ids(changed), "o100") || slices.Contains(ids(changed), "o0") {
		t.Errorf("after the minute: %v: %v", ids(changed), err)
	}

	for why, spoil := range map[string]func(){
		"throttled":                        func() { api.broken = errors.New("throttled") },
		`SSM parameter /outposts/1[0]`:     func() { api.broken = nil; api.put(t, "/outposts/1", `{"outpost_id":"o1"}`) },
		`outpost_id "o2" stands twice`:     func() { api.put(t, "/outposts/1", numbered(2)) },
		`no SSM parameter "/outposts/new"`: func() { s.Env.Parameters = append(s.Env.Parameters, "/outposts/new") },
	} {
		spoil()
		now = now.Add(time.Hour)
		kept, err := s.Outposts(t.Context())
		if err == nil || !strings.Contains(err.Error(), why) || !slices.Equal(ids(kept), ids(changed)) {
			t.Errorf("%s: %v: %v", why, ids(kept), err)
		}
		api.broken = nil
		api.put(t, "/outposts/1", numbered(1))
		s.Env.Parameters = s.Env.Parameters[:12]
	}
	if mended, err := s.Outposts(t.Context()); err != nil || len(mended) != 12 {
		t.Errorf("mended: %v: %v", ids(mended), err)
	}
}

func TestOutpostsThatWereNeverReadAreAnError(t *testing.T) {
	t.Parallel()
	s := &Source{Env: Env{Parameters: []string{"/outposts/1"}}, SSM: &parameters{broken: errors.New("access denied")}, Now: time.Now}
	if list, err := s.Outposts(t.Context()); err == nil || list != nil || !strings.Contains(err.Error(), "OUTPOSTS_PARAMETERS") {
		t.Errorf("%v: %v", list, err)
	}
}

func TestOutpostsInTheEnvironmentAreReadOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	s := &Source{Env: Env{Outposts: "[" + least + "]"}, Now: func() time.Time { return now }}
	for range 2 {
		if list, err := s.Outposts(t.Context()); err != nil || !slices.Equal(ids(list), []string{"o1"}) {
			t.Errorf("%v: %v", ids(list), err)
		}
		now = now.Add(time.Hour)
	}
}
