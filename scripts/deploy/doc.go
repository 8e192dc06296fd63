// Package deploy holds run.sh, the body of `make deploy`, and its tests.
package deploy
