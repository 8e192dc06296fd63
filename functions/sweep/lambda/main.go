// Command sweep is the function of that name, as Lambda runs it.
package main

import (
	"os"
	"time"

	"github.com/devin-outposts/devin-outposts-aws/functions"
	"github.com/devin-outposts/devin-outposts-aws/functions/sweep"
	"github.com/devin-outposts/devin-outposts-aws/functions/wire"
)

// version is stamped by the build.
var version = "dev"

func main() {
	wire.Start(wire.Function{Name: "sweep", Version: version, Now: time.Now, Out: os.Stdout}, func(k functions.Kit) any { return sweep.Handler{Kit: k}.Handle })
}
