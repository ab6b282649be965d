#!/bin/sh
# Runs all tests and counts them; `make test` has built the assets.
set -eu
cd "$(dirname "$0")/.."

# Go turns cgo off where there is no C compiler, and the race detector needs it.
race=-race
[ "$(go env CGO_ENABLED)" = 1 ] || race=

# Packages that bring a test bed of their own up run one after another, and each time: Go's test cache knows nothing of the
# plugin and the programs that they start.
beds=$(grep -rl --include='*_test.go' testbed test | xargs -n1 dirname | sort -u | sed 's,^,./,')
# shellcheck disable=SC2086 # several packages
rest=$(go list ./... | grep -vxF "$(go list $beds)")

# Property tests run by themselves, with more cases than usual; only their test binaries know the flag for that. Those whose
# check stands outside of a test function have no name here, and run with all tests of their package.
files=$(grep -rl --include='*_test.go' '"pgregory.net/rapid"' pkg test)
packages=$(echo "$files" | xargs -n1 dirname | sort -u | sed 's,^,./,')
checks=$(echo "$files" | xargs awk '
	/^func / { name = /^func Test/ ? substr($2, 1, index($2, "(") - 1) : "" }
	/rapid\.(Make)?Check\(/ { print name }' | sort -u)
named="^($(echo "$checks" | grep . | paste -sd '|' -))\$"
run=$named
if echo "$checks" | grep -q '^$'; then run=.; fi

if [ "$race" ]; then detector=on; else detector="off: no C compiler"; fi
echo "unit, property, integration and end-to-end tests; race detector $detector"
echo "property tests: 1,000 cases each, the same in every run (make soak draws others), without the race detector, which would
take minutes over code that has no goroutines"
export TESTBED=required
# shellcheck disable=SC2086
exec go run ./test/tally $race -skip "$named" $rest + $packages -run "$run" -rapid.checks=1000 -rapid.seed=1 + -p 1 -count=1 -timeout 40m $race -skip "$named" $beds
