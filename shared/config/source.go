package config

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// ParametersAPI is the part of SSM that is called.
type ParametersAPI interface {
	GetParameters(context.Context, *ssm.GetParametersInput, ...func(*ssm.Options)) (*ssm.GetParametersOutput, error)
}

// Source answers the outposts to serve. From SSM parameters it reads them again when what it has is older than a minute, so that a warm function follows a change.
type Source struct {
	Env Env
	SSM ParametersAPI
	Now func() time.Time

	mu   sync.Mutex
	have []Outpost
	read time.Time
}

// refreshAfter is how old the outposts may be.
const refreshAfter = time.Minute

// batch is how many parameters AWS gives in one call.
const batch = 10

// Outposts answers the outposts to serve. When a later read fails, it answers the last ones that were good, together with the error.
func (s *Source) Outposts(ctx context.Context) ([]Outpost, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.have != nil && (s.Env.Outposts != "" || s.Now().Sub(s.read) < refreshAfter) {
		return s.have, nil
	}
	list, err := s.load(ctx)
	if err != nil {
		return s.have, redact(err)
	}
	s.have, s.read = list, s.Now()
	return list, nil
}

func (s *Source) load(ctx context.Context) ([]Outpost, error) {
	if s.Env.Outposts != "" {
		return parseOutposts("OUTPOSTS", s.Env.Outposts)
	}
	var all []Outpost
	var errs []error
	for names := s.Env.Parameters; len(names) > 0; {
		n := min(batch, len(names))
		out, err := s.SSM.GetParameters(ctx, &ssm.GetParametersInput{Names: names[:n]})
		if err != nil {
			return nil, fmt.Errorf("read the SSM parameters of OUTPOSTS_PARAMETERS: %w", err)
		}
		for _, name := range out.InvalidParameters {
			errs = append(errs, fmt.Errorf("OUTPOSTS_PARAMETERS: there is no SSM parameter %q", name))
		}
		for _, p := range out.Parameters {
			list, err := parseOutposts("SSM parameter "+*p.Name, "["+*p.Value+"]")
			all, errs = append(all, list...), append(errs, err)
		}
		names = names[n:]
	}
	return all, errors.Join(append(errs, distinct("OUTPOSTS_PARAMETERS", all))...)
}
