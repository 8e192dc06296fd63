package poll

import (
	"testing"
	"time"
)

func TestNextInvocationIsLookedForMoreOftenOnceItIsDue(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ every, age, want time.Duration }{
		{20 * time.Second, 0, 20 * time.Second},
		{20 * time.Second, 59 * time.Second, 20 * time.Second},
		{20 * time.Second, time.Minute, 5 * time.Second},
		{20 * time.Second, 2 * time.Minute, 5 * time.Second},
		{time.Second, 2 * time.Minute, time.Second},
	} {
		if got := beat(test.every, test.age); got != test.want {
			t.Errorf("every %v, at the age of %v: %v, want %v", test.every, test.age, got, test.want)
		}
	}
}
