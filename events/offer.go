package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// OfferVersion is the version of the offer that this code writes, and the only one it reads.
const OfferVersion = 1

// What can be wrong with a message's form. Neither is mended by reading the message again.
var (
	ErrMalformed = errors.New("malformed message")
	ErrVersion   = errors.New("message of another version")
)

// Offer is the body of an SQS message: "this session waits". It is a hint, never the truth: it may come twice, late, or not at all.
type Offer struct {
	Version   int       `json:"version" jsonschema:"enum=1,description=Always 1."`
	OutpostID string    `json:"outpost_id" jsonschema:"minLength=1,description=The queue that the session waits in."`
	SessionID string    `json:"session_id" jsonschema:"minLength=1,description=The session that waits."`
	OfferedAt time.Time `json:"offered_at" jsonschema:"description=When the waiting session was seen (RFC 3339)."`
}

// NewOffer offers a session of an outpost, seen waiting at a time.
func NewOffer(outpostID, sessionID string, at time.Time) Offer {
	return Offer{Version: OfferVersion, OutpostID: outpostID, SessionID: sessionID, OfferedAt: at.UTC()}
}

// DecodeOffer reads an SQS body. Its errors wrap [ErrMalformed] or [ErrVersion], name the field, and repeat nothing of the body.
func DecodeOffer(body []byte) (Offer, error) {
	var o Offer
	var probe struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(body, &probe); err != nil {
		return Offer{}, fmt.Errorf("read offer: %w: %s", ErrMalformed, jsonFault(err))
	}
	if probe.Version == nil {
		return Offer{}, fmt.Errorf("read offer: %w: it has no version", ErrMalformed)
	}
	if *probe.Version != OfferVersion {
		return Offer{}, fmt.Errorf("read offer: %w: it is of version %d, this release reads version %d", ErrVersion, *probe.Version, OfferVersion)
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return Offer{}, fmt.Errorf("read offer: %w: %s", ErrMalformed, jsonFault(err))
	}
	switch {
	case o.OutpostID == "":
		return Offer{}, fmt.Errorf("read offer: %w: outpost_id is missing", ErrMalformed)
	case o.SessionID == "":
		return Offer{}, fmt.Errorf("read offer: %w: session_id is missing", ErrMalformed)
	case o.OfferedAt.IsZero():
		return Offer{}, fmt.Errorf("read offer: %w: offered_at is missing", ErrMalformed)
	}
	return o, nil
}

// jsonFault says what is wrong with a JSON document without quoting from it, since the document may be anybody's.
func jsonFault(err error) string {
	var kind *json.UnmarshalTypeError
	var form *json.SyntaxError
	var when *time.ParseError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s should be a %s", kind.Field, kind.Type)
	case errors.As(err, &kind):
		return "it is not a JSON object"
	case errors.As(err, &form):
		return fmt.Sprintf("it is not JSON (at byte %d)", form.Offset)
	case errors.As(err, &when):
		return "a time is not RFC 3339"
	}
	return "a field is not of its type"
}
