# The two commands to begin with are `make demo` and `make test`. All that is needed is Go and make.
.PHONY: help demo test unit soak lint build release assets clean

BINARY := bin/rollouts-plugin-trafficrouter-glooplatform
STATIC := -trimpath -ldflags '-s -w'
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

demo: assets build ## a canary release, live, on this machine; KEEP=1 stays up afterwards and prints the kubeconfig
	@go build -o bin/demo ./test/demo
	@bin/demo $(if $(KEEP),-keep)

test: assets ## all tests: unit, property (1,000 cases each), integration and end-to-end; with the race detector where it can be
	@sh test/all.sh

unit: ## the quick tests, which need no assets; property tests with 20 cases each
	@TESTBED=off go test -short $$(go list ./... | grep -v 'test/e2e\|test/testbed')

soak: ## the property tests of plan and plugin with 20,000 new cases each, for half an hour
	go test ./pkg/gloo ./pkg/engine ./pkg/plugin ./pkg/split -rapid.checks=20000 -timeout 2h

lint: ## gofmt, go vet and golangci-lint, which is built the first time, for some four minutes
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	go vet ./...
	go tool -modfile=tools/lint.mod golangci-lint run ./...

build: ## the plugin, into bin/: static and stripped
	CGO_ENABLED=0 go build $(STATIC) -o $(BINARY) .

release: ## binaries for all platforms and their sha256 sums, into dist/
	@set -e; rm -rf dist; mkdir dist; for platform in $(PLATFORMS); do \
		file=dist/$(notdir $(BINARY))-$${platform%/*}-$${platform#*/}; echo $$file; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 go build $(STATIC) -o $$file .; \
	done; cd dist; sha256sum * >checksums.txt

assets: ## the programs of the test bed, into bin/assets/; about 8 minutes the first time, on two cores
	@sh test/assets/build.sh

clean: ## removes bin/ and dist/
	rm -rf bin dist
