GO        ?= go
COUNT     ?= 6
BENCH     ?= .
FUZZTIME  ?= 30s

LINT_VERSION := v2.15.0
LINT_DIR     := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/poolwright/bin
LINT         := $(LINT_DIR)/golangci-lint-$(LINT_VERSION)

# The driver of the worlds that the end-to-end tests run in.
BED := $(CURDIR)/bin/bed

# Packages whose tests know -update: they hold the schema, the example tree and
# the golden files. The schema comes first, the trees are drawn from it.
UPDATABLE = $(shell grep -rl --include='*_test.go' 'Bool."update"' . | xargs -r -n1 dirname | sort -u)

.DEFAULT_GOAL := help
.PHONY: help demo build test e2e e2e-build incidents bench-live bench-failover bench-failover-page failover-build deps bed bed-build trials bench fuzz generate lint fmt

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## See the main job happen in 20 seconds; needs only Go
	$(GO) run ./cmd/poolwright demo

build: ## Build the binary into bin/
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/poolwright ./cmd/poolwright

test: deps ## Vet and run every test, race detector and shuffle on
	$(GO) vet ./...
	$(GO) test -race -shuffle=on ./...

# The end-to-end tests, compiled, and how they run: in a private world, from their own directory.
E2E = cd test/e2e && $(BED) run --with flux,argo -- $(CURDIR)/bin/e2e.test -test.v -test.timeout 30m

e2e incidents bench-live bench-failover: SHELL := /bin/bash -o pipefail
e2e: e2e-build ## Test on a real Kubernetes with real Flux and Argo CD (root; RUN=regexp for some of the tests)
	$(E2E) -test.parallel 4 -test.run '$(or $(RUN),^Test(Core|Flux|Argo|Bench))' | sed -u '/^=== /d'

incidents: failover-build ## Replay public incidents with real poolers, a real kube-proxy and applications (root; 5 minutes; RUN=regexp)
	cd test/failover && $(BED) run --with flux,proxy -- $(CURDIR)/bin/failover.test -test.v -test.timeout 15m -test.run '$(or $(RUN),^TestIncident)' | sed -u '/^=== /d'

bench-live: e2e-build ## Measure what a failover takes, ROUNDS times, on the same world (root; 15 minutes, alone on the machine)
	export BENCH_ROUNDS=$(or $(ROUNDS),20); $(E2E) -test.run '^TestBenchLive$$' | sed -u '/^=== /d'

# What the application in Node.js needs, exactly as the lock file has it.
test/failover/node/node_modules: test/failover/node/package-lock.json
	@command -v npm >/dev/null || { echo "bench-failover: no npm on this machine" >&2; echo "hint: apt-get install nodejs npm" >&2; exit 1; }
	npm ci --prefix test/failover/node --no-audit --no-fund
	@touch $@

# RESULTS=DIR keeps the raw data elsewhere, and draws no page: for a look at a few rounds.
bench-failover: override export RESULTS := $(abspath $(RESULTS))
bench-failover: export COMMIT := $(shell git describe --always --dirty)
bench-failover: failover-build test/failover/node/node_modules ## Measure a failover as applications feel it (root, npm; hours, alone on the machine; CELL=regexp, ROUNDS=n, RESULTS=DIR; goes on where it was ended)
	cd test/failover && $(BED) run --with flux,proxy -- $(CURDIR)/bin/failover.test -test.v -test.timeout 24h -test.run '^TestFailover$$' | sed -u '/^=== /d'
	$(if $(RESULTS),,$(MAKE) bench-failover-page)

bench-failover-page: ## Draw docs/performance/failover.md and its chart from the raw data
	$(GO) test -count=1 -run '^TestThePageIsOfItsRawData$$' ./test/failover -update

failover-build: export CGO_ENABLED := 0
failover-build: bed-build
	$(GO) vet -tags e2e ./test/failover
	$(GO) test -c -tags e2e -ldflags '-s -w' -o bin/failover.test ./test/failover
	gcc -O2 -Wall -Wextra -pthread -o bin/failover-libpq test/failover/libpq/client.c -l:libpq.so.5

e2e-build: export CGO_ENABLED := 0
e2e-build: bed-build
	$(GO) vet -tags e2e ./test/e2e
	$(GO) test -c -tags e2e -ldflags '-s -w' -o bin/e2e.test ./test/e2e

deps: ## Install what the tests need (Debian; root or sudo): PostgreSQL, PgBouncer, git, ssh, gcc, redis
	@.ci/deps

bed: bed-build ## Start a private Kubernetes with Flux and Argo CD until Ctrl-C (root; test/bed/README.md)
	$(BED) run --with flux,argo

bed-build: deps ## Build the test bed's servers into the cache (30 CPU minutes the first time)
	$(GO) -C test/bed build -o $(BED) ./cmd/bed
	$(BED) build

trials: deps ## Kill a process KILLS times (20) at each command of an eviction by real PgBouncers (6 minutes)
	$(GO) test -race -count 1 -timeout 1h -v -run '^TestRealPgBouncersWhen' ./live/evict -kills $(or $(KILLS),20)

bench: ## Run the benchmarks COUNT times, for benchstat: make bench > new.txt
	@$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./...

fuzz: ## Run each fuzz target for FUZZTIME
	@grep -rno --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's|/[^/]*:[0-9]*:func | |' | sort | \
	while read -r dir target; do \
		$(GO) test "$$dir" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) || exit 1; \
	done

generate: ## Draw the schema, the example tree and the golden files anew
	$(GO) generate ./...
	$(GO) test -count=1 -p 1 $(UPDATABLE) -update

.PHONY: pr-preview
pr-preview: ## Render the golden pull requests to one HTML page, and say where it is
	@$(GO) -C test/prpreview test ./...
	@$(GO) -C test/prpreview run . $(CURDIR)/render/pulltext/testdata $(CURDIR)/bin/pull-requests.html

lint: $(LINT) ## Run golangci-lint
	$(LINT) run ./...

fmt: $(LINT) ## Format every file
	$(LINT) fmt ./...

# Built from source by version, away from go.mod: the linter's dependencies are not ours.
$(LINT):
	@mkdir -p $(LINT_DIR)/new
	GOBIN=$(LINT_DIR)/new $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@mv $(LINT_DIR)/new/golangci-lint $@ && rmdir $(LINT_DIR)/new
