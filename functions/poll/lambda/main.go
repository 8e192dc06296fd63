// Command poll is the function of that name, as Lambda runs it.
package main

import (
	"os"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/functions/poll"
	"github.com/devin-outposts/devin-outposts-aws/functions/wire"
)

// version is stamped by the build.
var version = "dev"

func main() {
	wire.Start(wire.Function{Name: "poll", Version: version, Now: time.Now, Out: os.Stdout}, func(k functions.Kit) any { return poll.Handler{Kit: k}.Handle })
}
