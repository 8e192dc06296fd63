package serve

import (
	"io"
	"os"
	"time"
)

// pipes are the three standard descriptors of a command: nothing to read, and what it writes copied on.
type pipes struct {
	null, outTheirs, errTheirs *os.File
	ours                       []*os.File
	copied                     chan struct{}
}

func openPipes(c Command) (*pipes, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	p := &pipes{null: null, copied: make(chan struct{}, 2)}
	for _, end := range []struct {
		theirs **os.File
		to     io.Writer
	}{{&p.outTheirs, c.Stdout}, {&p.errTheirs, c.Stderr}} {
		read, write, err := os.Pipe()
		if err != nil {
			p.closeTheirs()
			p.drain(0)
			return nil, err
		}
		*end.theirs, p.ours = write, append(p.ours, read)
		go func() {
			_, _ = io.Copy(end.to, read) // ends when the last writer has gone or the pipe is closed
			p.copied <- struct{}{}
		}()
	}
	return p, nil
}

func (p *pipes) files() []uintptr {
	return []uintptr{p.null.Fd(), p.outTheirs.Fd(), p.errTheirs.Fd()}
}

func (p *pipes) closeTheirs() {
	for _, f := range []*os.File{p.null, p.outTheirs, p.errTheirs} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// drain waits until everything written has been copied, at most for patience, and reports whether it was.
func (p *pipes) drain(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	whole := true
	for range p.ours {
		select {
		case <-p.copied:
		case <-timer.C:
			whole = false
			for _, f := range p.ours {
				_ = f.Close()
			}
			<-p.copied
		}
	}
	for _, f := range p.ours {
		_ = f.Close()
	}
	return whole
}
