package outposts

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// From this number on an instant is read as milliseconds. As seconds it would
// be the year 5138; as milliseconds it is 1973.
const firstMillisecond = 1e11

// The last instant we take for one: the end of the year 9999, in seconds.
const lastSecond = 253402300799

var number = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// Layouts of textual instants beside RFC 3339; they are read as UTC.
var layouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z0700"}

// instant reads a point in time in every form seen in the field: Unix seconds,
// Unix milliseconds, either of them as a string, and ISO 8601. Null, absent and
// an empty string are the zero time.
func instant(raw json.RawMessage) (time.Time, error) {
	text := strings.TrimSpace(string(raw))
	if text == "" || text == "null" {
		return time.Time{}, nil
	}
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(raw, &text); err != nil {
			return time.Time{}, fmt.Errorf("%s is no point in time", brief(string(raw)))
		}
		if text = strings.TrimSpace(text); text == "" {
			return time.Time{}, nil
		}
	}
	if number.MatchString(text) {
		return unix(text)
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 0 {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s is no point in time", brief(text))
}

func unix(text string) (time.Time, error) {
	value, err := strconv.ParseFloat(text, 64)
	if err == nil && value >= firstMillisecond {
		value /= 1000
	}
	if err != nil || value > lastSecond {
		return time.Time{}, fmt.Errorf("%s is neither seconds nor milliseconds since 1970", brief(text))
	}
	seconds, fraction := math.Modf(value)
	// A float of this size is exact to a quarter of a microsecond.
	return time.Unix(int64(seconds), int64(math.Round(fraction*1e6))*1e3).UTC(), nil
}
