#!/bin/sh
# Builds everything that is deployed, reproducibly: the same commit and Go give the same bytes, whatever the machine and folder.
#   dist/functions/{poll,claim,observe,sweep}/bootstrap   for FUNCTION_ARCH (arm64, the default, or amd64)
#   dist/worker/outpost-worker-{amd64,arm64}, Dockerfile   the context that the worker's image is built from
# VERSION is stamped into each binary; it is what git calls the commit, unless set. DIST is another folder to build into.
set -eu
cd "$(dirname "$0")/.."

arch=${FUNCTION_ARCH:-arm64}
case $arch in
arm64 | amd64) ;;
*)
	echo "FUNCTION_ARCH is \"$arch\"; it must be arm64 or amd64" >&2
	exit 2
	;;
esac
dist=${DIST:-dist}
version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo unknown)}

build() { # package, architecture, output, tags
	CGO_ENABLED=0 GOOS=linux GOARCH=$2 go build -trimpath -buildvcs=false -tags "$4" \
		-ldflags "-s -w -buildid= -X main.version=$version" -o "$3" "$1"
}

for name in poll claim observe sweep; do
	build "./functions/$name/lambda" "$arch" "$dist/functions/$name/bootstrap" lambda.norpc
done
for worker_arch in amd64 arm64; do
	build ./worker "$worker_arch" "$dist/worker/outpost-worker-$worker_arch" ""
done
cp worker/Dockerfile "$dist/worker/Dockerfile"
ls -l "$dist"/functions/*/bootstrap "$dist"/worker/outpost-worker-*
