.PHONY: assets build unit lint

build: ## the plugin, into bin/
	CGO_ENABLED=0 go build -trimpath -o bin/rollouts-plugin-trafficrouter-glooplatform .

assets: ## the programs of the test bed, into bin/assets/; about 8 minutes the first time, on two cores
	@sh test/assets/build.sh

unit: ## the tests that need no assets
	TESTBED=off go test ./...

lint:
	go vet ./...
