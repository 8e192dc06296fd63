package session_test

import "github.com/devin-outposts/devin-outposts-aws/shared/session"

var allStates = []session.State{session.Reserved, session.Claimed, session.Launching, session.Running, session.Stopping, session.Ended}
