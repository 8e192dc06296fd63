// Package stack is the deployment as a CloudFormation stack, written with the CDK: one construct a file. It uses CloudFormation's own resource types (the CDK's
// L1) nearly everywhere, so that what is written here is what is deployed, and above all no grant is added behind our back: every policy is in roles.go,
// functionroles.go and the files of the things they belong to.
package stack
