#!/bin/sh
# Deploys the stack: makes sure of what must be there before, shows what would change, asks, and does it. Arguments go to `cdk deploy`.
# `make build` must have run. Sessions that run are not touched: a task keeps the definition it was started with.
#
#   YES=1   do not ask
set -eu
cd "${PROJECT:-$(dirname "$0")/../..}"
cdk="npx --yes aws-cdk@2"

fail() {
	echo "deploy: $*" >&2
	exit 1
}

ask() {
	[ "${YES:-}" = 1 ] && return
	printf '%s [y/N] ' "$1"
	read -r answer || answer=
	[ "$answer" = y ] || [ "$answer" = yes ]
}

if grep -q '"outpost_env-example"' cdk.json; then
	fail 'cdk.json still names the outpost "outpost_env-example"; put your outpost'"'"'s id and its token'"'"'s secret into "outposts" (see docs/configuration.md)'
fi
command -v aws >/dev/null || fail "the AWS CLI is missing; install it and sign in (https://docs.aws.amazon.com/cli/)"
account=$(aws sts get-caller-identity --query Account --output text) || fail "not signed in to AWS; run \`aws configure\` or \`aws sso login\`"
region=${AWS_REGION:-${AWS_DEFAULT_REGION:-$(aws configure get region || true)}}
[ -n "$region" ] || fail "no region is set; set AWS_REGION"
echo "account $account, region $region"

# An account that never used ECS lacks the role that the first cluster needs.
if ! said=$(aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com 2>&1); then
	case $said in
	*"has been taken"*) ;;
	*) echo "deploy: the service-linked role of ECS could not be made sure of: $said" >&2 ;;
	esac
fi

if ! aws ssm get-parameter --name /cdk-bootstrap/hnb659fds/version --region "$region" >/dev/null 2>&1; then
	ask "This account and region have not been bootstrapped for the CDK. Do it now?" || fail "not bootstrapped; nothing was changed"
	$cdk bootstrap "aws://$account/$region"
fi

$cdk diff
if grep -q container-assets cdk.out/*.template.json 2>/dev/null && ! "${CDK_DOCKER:-docker}" info >/dev/null 2>&1; then
	fail "the worker's image is built on this machine, and ${CDK_DOCKER:-Docker} does not answer; start it (the CDK takes another builder from CDK_DOCKER), or name a complete image of yours (\"image\" in cdk.json)"
fi
ask "Deploy this?" || fail "nothing was changed"
$cdk deploy --require-approval never "$@"
echo 'deployed; "go run ./scripts/outpostctl doctor" checks it'
