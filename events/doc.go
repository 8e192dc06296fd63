// Package events holds the messages that pass between the functions and to the user's own rules: the offer (an SQS body), the lifecycle event (EventBridge) and
// the part of ECS's task state change that is read. Their samples and JSON schemas are embedded, so that tests here and rules elsewhere feed on the same text.
//
// Readers are lenient about what they do not know (new fields pass) and strict about what they need: an offer of another version is refused, not guessed at.
package events

import "embed"

//go:generate go test -run TestSchemasAreThoseOfTheTypes . -update

// Samples are one JSON document for each kind of message, under samples/.
//
//go:embed samples/*.json
var Samples embed.FS

// Schemas are the JSON schemas (2020-12) of the messages that this project defines, under schemas/: offer.json and state_change.json.
//
//go:embed schemas/*.json
var Schemas embed.FS
