# One command each; a second run skips what is done. `make help` lists them.
# Messages go to stderr, so that `make demo ARGS=--json` leaves nothing but the JSON on stdout.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.NOTPARALLEL:

# Passed on to the command that a target runs: make demo ARGS='--followers 10000'
ARGS ?=

# What the compiler needs, what every run needs, and what only tests and the benchmark need.
build_packages := pkg-config librdkafka-dev libnghttp2-dev libssl-dev libhiredis-dev libyaml-dev \
	libjansson-dev
run_packages := $(build_packages) redis-server ca-certificates tzdata curl
# What the compiler needs besides for the tests: the Lua that Redis' scripts run on.
test_build_packages := $(build_packages) liblua5.1-0-dev
test_packages := $(run_packages) liblua5.1-0-dev nghttp2-client nghttp2-server openssl python3
# What makes a Debian package.
package_packages := dpkg-dev binutils patchelf
# Whose languages the examples speak, and Node also plays Apple.
example_packages := nodejs golang-go

libraries := rdkafka libnghttp2 openssl hiredis yaml-0.1 jansson
sources := Package.swift Sources Tests
# The test targets that run code on lanes: what ThreadSanitizer is for.
lane_tests := EventLoopTests|HTTPServerTests|APITests|TransportTests|RedisTests|DeliverTests|PipelineTests|IntegrationTests

# Optimised, as what runs in production: unoptimised tests take twice the time, and see less of what only
# happens in an optimised build. `swift build` without these flags builds everything again.
build_tests = swift build --build-tests -Xswiftc -O >&2

say = printf '==> %s\n' $(1) >&2

# $(call install,PACKAGES,COMMANDS): installs the Debian packages that are missing. Where there is no apt,
# it only looks whether the libraries and the commands are there.
define install
if ! command -v swift >/dev/null; then
  $(call say,"No swift on the PATH: install the Swift 6.3 toolchain from https://www.swift.org/install/linux/")
  exit 1
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
  missing=()
  for library in $(libraries); do
    pkg-config --exists "$$library" 2>/dev/null || missing+=("$$library")
  done
  for command in $(2); do
    command -v "$$command" >/dev/null || missing+=("$$command")
  done
  if [ "$${#missing[@]}" -gt 0 ]; then
    $(call say,"This is not Debian and these are missing: $${missing[*]}")
    $(call say,"Install what corresponds to the Debian packages: $(strip $(1))")
    exit 1
  fi
  $(call say,"Libraries and commands: all there (not Debian: nothing was installed)")
else
  missing=()
  for package in $(1); do
    dpkg -s "$$package" 2>/dev/null | grep '^Status: .* ok installed$$' >/dev/null ||
      missing+=("$$package")
  done
  if [ "$${#missing[@]}" -eq 0 ]; then
    $(call say,"Debian packages: all installed")
  else
    as_root=(env DEBIAN_FRONTEND=noninteractive)
    if [ "$$(id -u)" -ne 0 ]; then
      if ! command -v sudo >/dev/null; then
        $(call say,"Missing Debian packages and neither root nor sudo. As root run:")
        $(call say,"  apt-get update && apt-get install --no-install-recommends $${missing[*]}")
        exit 1
      fi
      as_root=(sudo "$${as_root[@]}")
    fi
    $(call say,"Installing Debian packages: $${missing[*]}")
    apt=("$${as_root[@]}" apt-get -qq -o DPkg::Lock::Timeout=120)
    "$${apt[@]}" update >&2
    "$${apt[@]}" install -y --no-install-recommends "$${missing[@]}" </dev/null >&2
  fi
fi
endef

# Debian may start its own redis-server on port 6379 when that package is installed. Nothing here uses or
# stops it: the demo, the benchmark and the tests start their own on free ports.

.PHONY: help
help: ## List the targets
	@printf 'make <target> [ARGS="..."]\n\n'
	awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: ## Install what is missing, build, fan one event out to 100,000 followers
	@$(call install,$(run_packages),redis-server)
	$(call say,"Building in release mode; the first build takes some minutes")
	swift build -c release --product fanfare >&2
	$(call say,"Running .build/release/fanfare demo $(ARGS)")
	exec .build/release/fanfare demo $(ARGS)

.PHONY: test
test: ## Install what is missing, build, run all but the endurance tests (ARGS='--filter NAME': some of them)
	@$(call install,$(test_packages),redis-server nghttpd openssl python3)
	$(call say,"Building the tests; the first build takes some minutes")
	$(build_tests)
	$(call say,"Running the tests")
	if [ -n "$(ARGS)" ]; then
	  exec swift test --skip-build --disable-xctest --no-parallel $(ARGS)
	fi
	exec Tests/run

.PHONY: unit
unit: ## Build, run the tests that need no server and start no process
	@$(call install,$(test_build_packages) python3,python3)
	$(call say,"Building the tests; the first build takes some minutes")
	$(build_tests)
	$(call say,"Running the unit tests")
	exec Tests/run --unit $(ARGS)

.PHONY: test-faults
test-faults: ## Build, run the endurance tests: workers die, stop, come and go; others' servers play Apple
	@$(call install,$(test_packages) $(example_packages) python3-h2 python3-venv,redis-server nghttpd node go openssl python3)
	$(call say,"Building the tests; the first build takes some minutes")
	$(build_tests)
	$(call say,"Running the endurance tests")
	exec Tests/run --endurance $(ARGS)

.PHONY: test-cluster
test-cluster: ## Build, run the tests of the whole way with a Redis Cluster in the place of one Redis
	@$(call install,$(test_packages),redis-server openssl python3)
	$(call say,"Building the tests; the first build takes some minutes")
	$(build_tests)
	$(call say,"Running the tests on a Redis Cluster of three masters")
	TESTS_REDIS_CLUSTER=1 exec Tests/run --filter '^IntegrationTests\.' $(ARGS)

.PHONY: world
world: ## Live seeds of a whole deployment, with its faults, in virtual time (ARGS='--seeds 5000', '--seed 7 --trace')
	@$(call install,$(test_build_packages),)
	$(call say,"Building; the first build takes some minutes")
	swift build --product WorldTool -Xswiftc -O >&2
	exec .build/debug/WorldTool --jobs "$$(nproc)" $(ARGS)

.PHONY: build-tests
build-tests: ## Build the tests as `make test` does, for Tests/run (ARGS='-j 2')
	@$(call install,$(test_packages) $(example_packages),)
	$(build_tests) $(ARGS)

.PHONY: bench
bench: ## Install what is missing, build, measure against h2load
	@$(call install,$(test_packages) wrk,redis-server nghttpd h2load wrk)
	$(call say,"Building in release mode; the first build takes some minutes")
	swift build -c release --product fanfare >&2
	$(call say,"Running .build/release/fanfare bench $(ARGS)")
	exec .build/release/fanfare bench $(ARGS)

.PHONY: test-tsan
test-tsan: ## Run the tests that exercise lanes under ThreadSanitizer
	@$(call install,$(test_packages),redis-server nghttpd openssl)
	$(call say,"Building and running the lane tests under ThreadSanitizer")
	mkdir -p .build/tsan
	clang -shared -fPIC -O1 -o .build/tsan/c11-threads.so Tests/ThreadSanitizer/c11-threads.c
	swift build --build-tests --sanitize=thread --scratch-path .build/tsan >&2
	LD_PRELOAD="$(CURDIR)/.build/tsan/c11-threads.so" \
	TSAN_OPTIONS="suppressions=$(CURDIR)/Tests/ThreadSanitizer/suppressions.txt" \
	swift test --skip-build --disable-xctest --no-parallel --sanitize=thread \
	  --scratch-path .build/tsan \
	  --filter '^($(lane_tests))\.' $(ARGS)

.PHONY: test-valgrind
test-valgrind: ## Run the release build's verbs and a small fan-out under valgrind
	@$(call install,$(run_packages) valgrind,redis-server redis-cli valgrind)
	$(call say,"Building in release mode; the first build takes some minutes")
	swift build -c release --product fanfare >&2
	$(call say,"Running the release build under valgrind")
	Tests/Valgrind/run

.PHONY: test-alerts
test-alerts: ## Ask Prometheus' own tool what the alert rules make of faults, second by second
	@$(call install,prometheus,promtool)
	promtool check rules docker/prometheus/alerts.yaml
	promtool test rules Tests/Alerts/rules.yaml

.PHONY: lint-kubernetes
lint-kubernetes: ## Check docker/kubernetes and docker/compose.yaml by the schemas, and against the program (FANFARE_BINARY)
	@$(call install,ca-certificates python3 python3-venv,python3)
	exec Tests/Kubernetes/run $(ARGS)

.PHONY: sbom
sbom: ## List what the release build is made of, as CycloneDX 1.6: .build/fanfare.cdx.json (FANFARE_BINARY: of another)
	@$(call install,$(run_packages) python3 git,python3 git)
	binary=$${FANFARE_BINARY:-.build/release/fanfare}
	if [ -z "$${FANFARE_BINARY:-}" ]; then
	  $(call say,"Building in release mode; the first build takes some minutes")
	  swift build -c release --product fanfare >&2
	fi
	exec python3 -B Tests/Sbom/write.py "$$binary" .build/fanfare.cdx.json

.PHONY: test-sbom
test-sbom: sbom ## Check that list by the schema of CycloneDX, and against what the program loads
	@$(call install,ca-certificates python3 python3-venv,python3)
	exec Tests/Sbom/run "$${FANFARE_BINARY:-.build/release/fanfare}" .build/fanfare.cdx.json

.PHONY: test-judges
test-judges: ## Others' libraries that judge what goes to FCM and to browsers: can each refuse? Then examples/web in Chromium
	@$(call install,ca-certificates python3 python3-venv chromium dbus-daemon openssl,python3 dbus-daemon openssl)
	$(call say,"Trying the judges")
	Tests/Judges/run fcm --self-check
	Tests/Judges/run webpush --self-check
	$(call say,"Building the tests; what goes to FCM and to browsers is judged")
	swift build --build-tests -Xswiftc -O >&2
	mkdir -p .build/judged
	TESTS_JUDGED_FCM=.build/judged/fcm TESTS_JUDGED_WEBPUSH=.build/judged/webpush swift test --skip-build \
	  --disable-xctest --no-parallel --filter 'eachDeviceGetsItsMessageOnce|AreWrittenForTheJudges' >&2
	Tests/Judges/run fcm < .build/judged/fcm
	Tests/Judges/run webpush < .build/judged/webpush
	$(call say,"Trying examples/web in Chromium")
	exec Tests/Web/run $(ARGS)

.PHONY: test-dashboard
test-dashboard: ## The dashboard's page in Chromium against a mock server (ARGS='--only WORD', --url of a real server)
	@$(call install,ca-certificates python3 python3-venv chromium,python3 chromium)
	exec Tests/Web/dashboard/run $(ARGS)

.PHONY: test-drill
test-drill: ## Break one thing at a time beside Prometheus: who is told what, how soon? (ARGS='--only NAME', --list)
	@$(call install,$(run_packages) prometheus,redis-server prometheus curl java)
	$(call say,"Building in release mode; the first build takes some minutes")
	swift build -c release --product fanfare >&2
	exec Tests/Drill/run $(ARGS)

.PHONY: test-mutants
test-mutants: ## Break the code on purpose, a line at a time: does a test notice? (ARGS='--only NAME', --list, '--random 100 --seed 7')
	@$(call install,$(test_packages),redis-server nghttpd openssl python3)
	exec Tests/Mutants/run $(ARGS)

.PHONY: fuzz
fuzz: ## Feed every parser of foreign bytes with what libFuzzer makes up (ARGS='--minutes 30 --only http2', --thorough, --list)
	@$(call install,$(build_packages) python3,python3)
	exec Tests/Fuzz/run $(ARGS)

.PHONY: build
build: ## Install what is missing, build in release mode: .build/release/fanfare
	@$(call install,$(run_packages),)
	$(call say,"Building in release mode; the first build takes some minutes")
	swift build -c release --product fanfare $(ARGS) >&2

.PHONY: deb
deb: build ## Build, make a Debian package: .build/fanfare_VERSION_ARCHITECTURE.deb
	@$(call install,$(package_packages),dpkg-deb dpkg-shlibdeps patchelf)
	$(call say,"Making the package")
	Config/debian/build

.PHONY: test-deb
test-deb: build ## Build, make a Debian package, install it in a folder, run, upgrade, remove and purge it
	@$(call install,$(package_packages) groff-base redis-server,dpkg-deb dpkg-shlibdeps patchelf groff redis-server)
	$(call say,"Trying the package")
	exec Tests/Packaging/run

.PHONY: format
format: ## Format every Swift file in place
	@swift format --in-place --parallel --recursive $(sources)

.PHONY: lint
lint: ## Install what is missing, check the format of every Swift file, and the scripts that run in Redis
	@$(call install,lua-check python3,luacheck python3)
	$(call say,"Checking the format")
	swift format lint --strict --parallel --recursive $(sources)
	$(call say,"Checking the scripts")
	Tests/Lua/lint

.PHONY: clean
clean: ## Remove everything that was built
	@$(call say,"Removing .build")
	rm -rf .build
