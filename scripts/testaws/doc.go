// Package testaws holds the tests that need moto, an imitation of AWS in Python that checks more than the one in Go: encryption contexts, reserved words, the
// template as CloudFormation. They carry the build tag testaws; run.sh starts moto and runs them.
package testaws
