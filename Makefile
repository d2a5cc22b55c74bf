# The few commands that people type. Everything else is plain `go`.

# Packages whose rules need no database, and those with rules about money.
MUTATED = availability text notify domain records payments

.PHONY: build demo test test-all race mutate golden lint packages module ci

build: ## the sidecar, static and without debug information
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bookside ./cmd/bookside

demo: ## a server on an embedded database with a sample site
	go run ./cmd/demo

test: ## the tests, on a private MariaDB or MySQL if one is installed
	go test ./...

test-all: ## all tests with all their cases, also in a browser and in WordPress; a missing program is a failure
	BOOKSIDE_TEST_REQUIRE_SERVER=1 BOOKSIDE_TEST_REQUIRE_TOOLS=1 BOOKSIDE_TEST_THOROUGH=1 go test -timeout=30m ./...

race: ## the tests of packages with concurrency, with the race detector
	CGO_ENABLED=1 go test -race -timeout=15m ./cmd/internal/server ./adapter/... ./handlers/... ./wpdb/...

mutate: ## checks whether tests notice a changed operator (.gremlins.yaml); an hour, or `make mutate MUTATED=text`
	for package in $(MUTATED); do go run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0 unleash ./adapter/$$package || exit 1; done

golden: ## rewrites golden records, the API document and the generated documents
	go test ./handlers ./handlers/apitest/... ./cmd/bookside -update

lint:
	golangci-lint run ./...

packages: ## the builds for other systems, and the packages; needs lintian, buildah, skopeo, jq
	.ci/packages

module: ## publishes the repository under another path: `make module TO=example.org/me/bookside`
	git grep -lF "$$(go list -m)" -- go.mod .golangci.yml '*.go' '*.md' | xargs sed -i "s#$$(go list -m)#$(TO)#g" && gofmt -w .

ci: ## what runs on every change; installs what it needs on a Debian machine
	.ci/run
