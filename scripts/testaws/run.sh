#!/bin/sh
# Tests against moto, which imitates AWS more strictly than what the other tests use, and lints the synthesised template. Needs Python 3.9 or newer.
# Everything it installs and builds goes into .cache/testaws.
#
#   MOTO_PYTHON   a Python that has moto[server] and cfn-lint already; nothing is installed then
set -eu
cd "$(dirname "$0")/../.."
[ "$(uname)" = Linux ] || { echo "these tests run the functions as they are built for Lambda, which needs Linux" >&2; exit 1; }

requirements="moto[server]>=5.2,<6 cfn-lint>=1.40,<2"
python=${MOTO_PYTHON:-.cache/testaws/bin/python}
has_all() { "$1" -c 'import moto.server, flask, cfnlint' 2>/dev/null; }

if [ -z "${MOTO_PYTHON:-}" ] && ! has_all "$python"; then
	rm -rf .cache/testaws
	python3 -m venv .cache/testaws
	# shellcheck disable=SC2086 # a list
	if ! "$python" -m pip install --quiet --disable-pip-version-check $requirements; then
		echo "no package index in reach: using what the system's Python has" >&2
		rm -rf .cache/testaws
		python3 -m venv --system-site-packages .cache/testaws
	fi
fi
if ! has_all "$python"; then
	echo "$python lacks moto[server] or cfn-lint; install them with: $python -m pip install $requirements" >&2
	exit 1
fi

# A stack for this machine's processor, with one outpost that is listed and not watched, so that poll returns, and whose tasks can be looked into.
echo "== build and synthesise"
site=$PWD/.cache/testaws/site
arch=$(go env GOHOSTARCH)
rm -rf "$site"
mkdir -p "$site"
DIST="$site/dist" FUNCTION_ARCH=$arch VERSION=testaws scripts/build.sh >/dev/null
go build -o "$site/infra" ./infra
words=$([ "$arch" = arm64 ] && echo arm64 || echo x64)
(cd "$site" && CDK_OUTDIR=cdk.out CDK_CONTEXT_JSON='{"functionArchitecture": "'"$words"'",
  "outposts": [{"id": "outpost_env-testaws", "tokenSecret": "devin-outposts/token", "dispatch": "poll", "exec": true}]}' ./infra)
rie=$(go env GOPATH)/bin/aws-lambda-rie
[ -x "$rie" ] || go install github.com/aws/aws-lambda-runtime-interface-emulator/cmd/aws-lambda-rie@v0.0.0-20261030222936-bef5c4ba774d

echo "== cfn-lint"
# Any finding fails, down to the informational ones.
"$python" -c 'from cfnlint.runner import main; main()' --non-zero-exit-code informational -- \
	"$site"/cdk.out/*.template.json infra/stack/testdata/*.template.json

log=$(mktemp)
"$python" scripts/testaws/moto_server.py >"$log" 2>&1 &
moto=$!
trap 'kill $moto 2>/dev/null; wait $moto 2>/dev/null || true; rm -f "$log"' EXIT INT TERM
tries=0
until url=$(grep -om1 'http://127\.0\.0\.1:[0-9]*' "$log"); do
	tries=$((tries + 1))
	if [ $tries -gt 300 ] || ! kill -0 $moto 2>/dev/null; then
		echo "moto did not start:" >&2
		cat "$log" >&2
		exit 1
	fi
	sleep 0.1
done

export MOTO_URL="$url" SITE="$site" RIE="$rie"
export AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=testing AWS_SECRET_ACCESS_KEY=testing AWS_EC2_METADATA_DISABLED=true
unset AWS_PROFILE AWS_SESSION_TOKEN AWS_DEFAULT_PROFILE
echo "== lease store on moto"
LEASE_TEST_ENDPOINT="$url" go test -count=1 -run 'DynamoDBKeepsTheContract$' ./shared/lease
echo "== the stack and the functions on moto"
go test -count=1 -tags testaws ./scripts/testaws
