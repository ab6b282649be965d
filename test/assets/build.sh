#!/bin/sh
# Builds the programs of the test bed into a folder (default bin/assets), with nothing but Go modules. They are built
# again only when their versions change, which test/assets/go.mod states.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:-$root/bin/assets}
mkdir -p "$out"
out=$(cd "$out" && pwd)
stamp=$(cksum <"$here/go.mod")

# The bed takes the CRDs of Argo Rollouts and of the Gateway API from their modules.
(cd "$root" && go mod download github.com/argoproj/argo-rollouts)
(cd "$root/test/crds/gatewayapi" && go mod download sigs.k8s.io/gateway-api)

if [ -x "$out/etcd" ] && [ -x "$out/kube-apiserver" ] && [ -x "$out/rollouts-controller" ] &&
	[ "$(cat "$out/stamp" 2>/dev/null)" = "$stamp" ]; then
	echo "assets: up to date"
	exit 0
fi

version() {
	cd "$here" && go list -m -f '{{.Version}}' "$1"
}

# build NAME MODULE PACKAGE HINT [LINKER FLAG]...
build() {
	name=$1 module=$2 package=$3 hint=$4
	shift 4
	echo "assets: building $name $(version "$module"); $hint the first time on two cores"
	began=$(date +%s)
	(cd "$here" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w $*" -o "$out/$name.new" "$package")
	mv "$out/$name.new" "$out/$name"
	echo "assets: built $name in $(($(date +%s) - began)) s"
}

build etcd go.etcd.io/etcd/server/v3 go.etcd.io/etcd/server/v3 "about 30 seconds"
build rollouts-controller github.com/argoproj/argo-rollouts github.com/argoproj/argo-rollouts/cmd/rollouts-controller \
	"about 5 minutes"
kubernetes=$(version k8s.io/kubernetes)
minor=${kubernetes#v1.}
component=k8s.io/component-base/version
build kube-apiserver k8s.io/kubernetes k8s.io/kubernetes/cmd/kube-apiserver "about 3 minutes" \
	-X "$component.gitVersion=$kubernetes" -X "$component.gitMajor=1" -X "$component.gitMinor=${minor%%.*}"

echo "$stamp" >"$out/stamp"
