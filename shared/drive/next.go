//go:build !mutants

package drive

import "github.com/devin-outposts/devin-outposts-aws/shared/session"

// next decides. Built with the tag mutants it can be replaced by faulty ones, to show that the simulator finds them.
func next(v session.View) session.Action { return session.Next(v) }
