#!/bin/sh
# Runs all tests and counts them; `make test` has built the assets.
set -eu
cd "$(dirname "$0")/.."

# Go turns cgo off where there is no C compiler, and the race detector needs it.
race=-race
[ "$(go env CGO_ENABLED)" = 1 ] || race=

# Packages that bring a test bed of their own up run one after another.
beds=$(grep -rl --include='*_test.go' testbed test | xargs -n1 dirname | sort -u | sed 's,^,./,')
# shellcheck disable=SC2086 # several packages
rest=$(go list ./... | grep -vxF "$(go list $beds)")

# Property tests, by file, package and name. A check outside of a test function stands for any test.
files=$(grep -rl --include='*_test.go' '"pgregory.net/rapid"' pkg test)
packages=$(echo "$files" | xargs -n1 dirname | sort -u | sed 's,^,./,')
names=$(echo "$files" | xargs awk '
	/^func / { name = /^func Test/ ? substr($2, 1, index($2, "(") - 1) : "Test.*" }
	/rapid\.(Make)?Check\(/ { print name }' | sort -u | paste -sd '|' -)

if [ "$race" ]; then detector=on; else detector="off: no C compiler"; fi
echo "unit, property, integration and end-to-end tests; race detector $detector"
echo "property tests once more, 1,000 cases each, without it: it would take minutes over them"
export TESTBED=required
# shellcheck disable=SC2086
exec go run ./test/tally $race $rest + $packages -run "^($names)\$" -rapid.checks=1000 + -p 1 -timeout 20m $race $beds
