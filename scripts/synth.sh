#!/bin/sh
# Writes the CloudFormation template into cdk.out, without network or credentials. `make build` must have run. `npx aws-cdk@2 synth` gives the same template.
set -eu
cd "$(dirname "$0")/.."
rm -rf cdk.out
CDK_OUTDIR=cdk.out go run ./infra
ls cdk.out/*.template.json
