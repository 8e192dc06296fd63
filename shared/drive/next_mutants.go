//go:build mutants

package drive

import "github.com/devin-outposts/devin-outposts-aws/shared/session"

// Next is what decides; only builds with the tag mutants have it.
var Next = session.Next

func next(v session.View) session.Action { return Next(v) }
