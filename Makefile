# The two commands to begin with are `make demo` and `make test`. All that is needed is Go and make.
.PHONY: help demo test unit lint build release assets clean

BINARY := bin/rollouts-plugin-trafficrouter-glooplatform
STATIC := -trimpath -ldflags '-s -w'
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

# The race detector needs a C compiler, and Go turns cgo off where there is none.
RACE = $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# Packages with property tests: only their test binaries know the flag -rapid.checks.
PROPERTY = $(shell go list $(addprefix ./,$(sort $(dir $(shell grep -rl --include='*_test.go' '"pgregory.net/rapid"' pkg test)))))
# Packages that bring a test bed of their own up, one after another.
BEDS = $(shell go list $(addprefix ./,$(sort $(dir $(shell grep -rl --include='*_test.go' testbed test)))))
REST = $(filter-out $(PROPERTY) $(BEDS),$(shell go list ./...))

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

demo: assets build ## a canary release, live, on this machine; KEEP=1 stays up afterwards and prints the kubeconfig
	@go build -o bin/demo ./test/demo
	@bin/demo $(if $(KEEP),-keep)

test: assets ## all tests: unit, property (1,000 cases each), integration and end-to-end; with the race detector where it can be
	@echo "unit, property (1,000 cases each), integration and end-to-end tests; race detector $(if $(RACE),on,off: no C compiler)"
	@TESTBED=required go run ./test/tally $(RACE) $(REST) + $(RACE) $(PROPERTY) -rapid.checks=1000 + -p 1 -timeout 20m $(RACE) $(BEDS)

unit: ## the quick tests, which need no assets
	@TESTBED=off go test $(REST) $(PROPERTY)

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
