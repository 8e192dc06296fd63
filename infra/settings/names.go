package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

var illegal = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// longestName fits every kind of name below, and keeps the policies that list them within their limit.
const longestName = 52

// SafeName makes a name out of parts that is legal for ECS task families and capacity providers, at most 52 characters long. It begins with a word of our
// own, since AWS refuses names that begin with aws, ecs or fargate, in any case, and ends with a hash, so that different parts never make the same name.
func SafeName(parts ...string) string {
	name, whole := "outposts", ""
	for _, part := range parts {
		name += "-" + illegal.ReplaceAllString(part, "-")
		whole += part + "\x00"
	}
	return withHash(name, whole, longestName)
}

// Cut shortens a name that is longer than AWS allows, and leaves others alone.
func Cut(name string, longest int) string {
	if len(name) <= longest {
		return name
	}
	return withHash(name, name, longest)
}

func withHash(name, whole string, longest int) string {
	sum := sha256.Sum256([]byte(whole))
	suffix := "-" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), longest-len(suffix))] + suffix
}

// Family is the ECS task definition family of an outpost: a name of its own in this stack, by which tasks are told from everybody else's.
func (s *Settings) Family(o Outpost) string { return SafeName(s.StackName, o.ID) }

// Parameter is the name of the SSM parameter that holds an outpost's configuration. SSM refuses names that begin with aws or ssm.
func (s *Settings) Parameter(o Outpost) string { return "/outposts/" + s.StackName + "/" + o.ID }

// Time limits of the functions in seconds. An invocation of poll watches for 150 s; sweep starts every 60 s.
const (
	watchTimeout   = 170
	pollTimeout    = 60
	ClaimTimeout   = 60
	observeTimeout = 60
	sweepTimeout   = 58
)

// Timeouts are the functions' time limits in seconds, by the functions' names.
func (s *Settings) Timeouts() map[string]int {
	timeouts := map[string]int{"poll": pollTimeout, "claim": ClaimTimeout, "observe": observeTimeout, "sweep": sweepTimeout}
	for _, o := range s.Outposts {
		if o.Dispatch == Watch {
			timeouts["poll"] = watchTimeout
		}
	}
	return timeouts
}
