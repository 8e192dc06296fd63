// Package lambdatest runs a built Lambda function (its `bootstrap`) as Lambda does: as child processes that ask a runtime API for one invocation after the other.
// Tests and the demo use it where several invocations overlap, where an instance crashes in the middle, or where time runs out; the emulator that AWS offers
// takes one invocation at a time.
//
//	f := lambdatest.New(lambdatest.Config{Name: "poll", Binary: "dist/functions/poll/bootstrap", Env: environment, Timeout: time.Minute, Now: time.Now})
//	defer f.Close()
//	answer, err := f.Invoke(ctx, []byte(`{}`))
//
// An invocation takes an instance that waits, or starts one, up to a limit; beyond it, invocations wait. An instance that exits, or whose invocation is not
// over in time, is gone, and the next invocation starts another.
//
// The protocol is AWS's "Lambda runtime API", version 2018-06-01.
package lambdatest
