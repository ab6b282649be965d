# The two commands to begin with are `make demo` and `make test`. All that is needed is Go and make.
.PHONY: help demo test test-long unit soak leaks bench lint build release assets traefik clean

BINARY := bin/rollouts-plugin-trafficrouter-glooplatform
MODULE := github.com/argoproj-labs/rollouts-plugin-trafficrouter-glooplatform
# Without git, or without a tag, these are empty, and the binary says what the Go toolchain noted.
VERSION := $(shell git describe --tags --dirty 2>/dev/null)
COMMIT := $(shell git describe --always --abbrev=40 --exclude '*' --dirty 2>/dev/null)
STATIC := -trimpath -ldflags '-s -w -X $(MODULE)/internal/cli.version=$(VERSION) -X $(MODULE)/internal/cli.commit=$(COMMIT)'
GORELEASER := bin/tools/goreleaser
GORELEASER_VERSION := v2.17.0
TRAEFIK := github.com/traefik/traefik/v3
# The packages most of whose tests need a test bed: to link those takes longer than to run what is left.
WITH_ASSETS := demo\|e2e\|faults\|leaks\|startup\|testbed\|traefik\|versions

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

demo: assets build ## a canary release, live, on this machine; KEEP=1 stays up afterwards and prints the kubeconfig
	@go build -o bin/demo ./test/demo
	@bin/demo $(if $(KEEP),-keep)

test: assets ## all tests: unit, property (1,000 cases each), integration and end-to-end; with the race detector where it can be
	@sh test/all.sh

test-long: assets ## the fault tests with ten times as much of everything, and a table of their results; some ten minutes
	TESTBED=required go test -count=1 -v -timeout 1h ./test/faults -long

unit: ## the quick tests, which need no assets; property tests with 20 cases each
	@TESTBED=off go test -short $$(go list ./... | grep -v 'test/\($(WITH_ASSETS)\)')

soak: ## the property tests of plan and plugin with 20,000 new cases each, for half an hour
	go test ./test/rules ./pkg/gloo ./pkg/engine ./pkg/plugin ./pkg/split -rapid.checks=20000 -timeout 2h

leaks: assets ## 100,000 calls over tables that come and go: what the plugin's process holds meanwhile; some ten minutes
	TESTBED=required go test -count=1 -v -timeout 3h ./test/leaks -calls=100000

bench: assets build ## what a reconcile takes, over RPC and a real API server with 1,000 tables; a minute
	@go run ./test/bench

lint: ## gofmt, go vet and golangci-lint, which is built the first time, for some four minutes
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	go vet ./...
	go tool -modfile=tools/lint.mod golangci-lint run ./...

build: ## the plugin, into bin/: static and stripped
	CGO_ENABLED=0 go build $(STATIC) -o $(BINARY) .

release: $(GORELEASER) ## what a tag would publish, into dist/: binaries for all platforms and their sums
	$(GORELEASER) check
	$(GORELEASER) release --snapshot --clean --skip=publish,sign,docker,sbom
	go test -count=1 ./test/release # each file is what its name says

$(GORELEASER): # in some eight minutes, the first time
	GOBIN=$(CURDIR)/bin/tools go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)

assets: ## the programs of the test bed, into bin/assets/; about 8 minutes the first time, on two cores
	@sh test/assets/build.sh

traefik: ## a gateway that test/traefik runs if it is there, into bin/assets/; about 12 minutes the first time, on two cores
	@mkdir -p bin/assets
	@cd test/traefik/program && sum=$$(go list -m -f '{{.Sum}}' $(TRAEFIK)) && \
	if go version -m $(CURDIR)/bin/assets/traefik 2>/dev/null | grep -qF "$$sum"; then echo "traefik: up to date"; else \
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $(CURDIR)/bin/assets/traefik $(TRAEFIK)/cmd/traefik; fi

clean: ## removes bin/ and dist/
	rm -rf bin dist
