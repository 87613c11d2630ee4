# The two commands are `make run` and `make test`; each installs what it needs first. `make help` lists the others.

# Warnings are errors in CI alone: a later compiler's new warning must not stop a user's build.
STRICT := $(if $(DIFFSERVER_STRICT),-Xswiftc -warnings-as-errors --explicit-target-dependency-import-check error)
BINARY := $(CURDIR)/.build/release/diffserver
SWIFT_FILES = $(shell find Package.swift Sources Tests Benchmarks -name .build -prune -o -name '*.swift' -print)
HISTORY ?= Tests/Fixtures/fire-incidents.jsonl

.DEFAULT_GOAL := help
.PHONY: adapters event-loop noninterference combinations dialects planted dependent docc help run test build setup setup-test setup-package unit end-to-end end-to-end-stores end-to-end-sqlite end-to-end-redis end-to-end-rest page openapi races fuzz fuzz-lists fuzz-http fuzz-work replay format lint bench bench-http bench-service bench-store attack targets pictures image image-test compose-test package package-test dist dist-test clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The digest key is fixed here, and only here, so that revisions are those shown in README.
run: build ## build for release and serve on http://127.0.0.1:8080; OPTIONS="--listen :80" and the like
	@DIFFSERVER_DIGEST_KEY="$${DIFFSERVER_DIGEST_KEY:-readme}" exec "$(BINARY)" serve $(OPTIONS)

# Three at a time: most of the tests wait. CI takes one after the other, so that no timer comes late.
TEST_JOBS ?= 3
test: builds ## build and run the tests
	@$(MAKE) --no-print-directory -o setup-test -o build -o build-tests -j$(TEST_JOBS) unit end-to-end page kotlin

# The tests have a folder of their own, so that both can be built at once: a release build, one module after the other, leaves a core idle.
TESTS = --scratch-path .build/tests
.PHONY: builds build-tests
builds: setup-test
	@$(MAKE) --no-print-directory -j2 build build-tests

build-tests: setup
	swift build --build-tests $(TESTS) $(STRICT)

build: setup
	.ci/build diffserver

setup:
	@.ci/setup build

setup-test:
	@.ci/setup test

setup-package:
	@.ci/setup package

# FULL=1: also the tests that take too long for each change, each random suite six times as long, and all of them over each store.
ALL := $(if $(FULL),--all)
export SNAPSHOTKIT_EFFORT ?= $(if $(FULL),6,1)

# Tests that wait run apart from those that compute, which give way to all else, or their timers come late.
unit: setup-test build-tests ## the libraries' tests
	Tests/unit $(TESTS) --skip-build --parallel --skip SnapshotKitTests
	nice -n 19 Tests/unit $(TESTS) --skip-build --parallel --filter SnapshotKitTests

.PHONY: libraries
libraries: setup ## build and test SnapshotKit, SnapshotViews and DiffClient alone, without what needs a server
	DIFFSERVER_SERVER=0 swift build --build-tests --scratch-path .build/libraries $(STRICT)
	DIFFSERVER_SERVER=0 Tests/unit --scratch-path .build/libraries --skip-build --parallel

end-to-end: setup-test build ## tests of the built server, from outside
	DIFFSERVER_BINARY="$(BINARY)" Tests/EndToEnd/run $(ALL)

# The parts that depend on how sockets are waited for, in about a minute.
LOOP_PARTS = hostile test_peers concurrency test_events LongPoll GivenUp test_limits test_descriptors hooks test_sources test_source_faults test_command_line.Serving nginx watchdog

event-loop: setup-test build build-tests ## tests of the event loops, the connections and the built server with Dispatch in place of epoll
	DIFFSERVER_TEST_EVENT_LOOP=dispatch Tests/unit $(TESTS) --skip-build --filter HTTPCoreTests
	DIFFSERVER_EVENT_LOOP=dispatch DIFFSERVER_BINARY="$(BINARY)" Tests/EndToEnd/run $(LOOP_PARTS)

end-to-end-stores: end-to-end-sqlite end-to-end-redis end-to-end-rest ## those that a store can change, with sessions in SQLite and in Redis, and what `make test` leaves out

end-to-end-sqlite: setup-test build
	DIFFSERVER_STORE=sqlite DIFFSERVER_BINARY="$(BINARY)" Tests/EndToEnd/run $(ALL)

end-to-end-redis: setup-test build
	DIFFSERVER_STORE=redis DIFFSERVER_BINARY="$(BINARY)" Tests/EndToEnd/run $(ALL)

# With FULL=1 the round in memory has them, too.
end-to-end-rest: setup-test build
	$(if $(FULL),,DIFFSERVER_BINARY="$(BINARY)" Tests/EndToEnd/run --rest)

TOGETHER = DIFFSERVER_BINARY="$(BINARY)" Tests/Together

# The seed of each is 1 unless SEED names another, and is printed.
noninterference: setup-test build ## two worlds that differ in what a caller may not see answer the same; SECONDS_EACH=60 or COUNT=2, SEED=2
	$(TOGETHER)/noninterference --seconds $(or $(SECONDS_EACH),60) $(COUNT:%=--count %) $(SEED:%=--seed %)

combinations: setup-test build ## every setting with every other, against a small model of the contract; SECONDS_EACH=240 or COUNT=500
	$(TOGETHER)/combinations --seconds $(or $(SECONDS_EACH),240) $(COUNT:%=--count %) $(SEED:%=--seed %)

dialects: setup-test build ## a reader in each dialect and patch form ends with what GET shows; SECONDS_EACH=60 or COUNT=90
	$(TOGETHER)/dialects --seconds $(or $(SECONDS_EACH),60) $(COUNT:%=--count %) $(SEED:%=--seed %)

# Two of them keep a core each; the third keeps all.
planted: setup-test build ## whether these three find faults that are planted
	@$(MAKE) --no-print-directory -j2 -O planted-noninterference planted-dialects
	! $(TOGETHER)/combinations --count 60 --lie operation >/dev/null

.PHONY: planted-noninterference planted-dialects
planted-noninterference:
	$(TOGETHER)/noninterference --self-check

planted-dialects:
	$(TOGETHER)/dialects --planted

# The client is for Node 20 and later, and Debian 12 has 18.
page: setup-test build ## tests of the playground and the JavaScript client, in Node 20 and in Chromium; takes axe from PyPI
	@if node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then DIFFSERVER="$(BINARY)" Tests/Page/run; \
	else echo "page: skipped, since this is Node $$(node --version) and the client is for Node 20 and later"; fi

.PHONY: kotlin
kotlin: setup-test build ## tests of the Kotlin client, on the JVM and against stand-ins for Android
	.ci/with-server Tests/Kotlin/run

openapi: setup-test build ## the description against the server, and the server against it; takes packages from PyPI
	Tests/OpenAPI/run "$(BINARY)"

adapters: setup ## type-check the Swift client's adapters for UIKit, AppKit and SwiftUI, against stubs of these
	Tests/Adapters/run

docc: setup ## compile the Swift client's documentation and its tutorial
	Tests/Documentation/run

dependent: setup ## build an app that depends on this package, with both of SwiftPM's engines
	Tests/Dependent/run

races: setup ## the server's tests under the thread sanitizer
	swift build --build-tests --sanitize=thread --scratch-path .build/races $(STRICT)
	Tests/unit --skip-build --sanitize=thread --scratch-path .build/races --filter HTTPCoreTests
	Tests/unit --skip-build --sanitize=thread --scratch-path .build/races --skip 'HTTPCoreTests|DiffClientTests|SnapshotKitTests'

fuzz: fuzz-lists fuzz-http fuzz-work ## fuzz states, changes, edits, the HTTP parser, and the work of a request for FUZZ_SECONDS=60 each; 0 only builds

fuzz-lists: setup
	Tests/Fuzz/run $(or $(FUZZ_SECONDS),60)

fuzz-http: setup
	Tests/Fuzz/http-parser/run.sh $(or $(FUZZ_SECONDS),60)

fuzz-work: setup
	Tests/Fuzz/work/run $(or $(FUZZ_SECONDS),60)

replay: setup-test build ## replay a list's history through the server; HISTORY=file.jsonl
	@.ci/with-server Examples/replay --items-at /Incidents --id-at /UniqueId --every 10 $(HISTORY)

format: ## format all Swift files
	@swift format format -i -p $(SWIFT_FILES)

lint: ## check the format, the width of lines, the arrows between the engine's rooms, that no test sleeps, and that docs/ are up to date
	@swift format lint -s -p $(SWIFT_FILES)
	@.ci/check-width $(SWIFT_FILES) *.md $$(find docs Clients Examples -name node_modules -prune -o -name "*.md" -print)
	@.ci/check-sleeps
	@.ci/check-walks
	@.ci/check-rooms
	@.ci/check-members
	@.ci/draw-targets --check
	@.ci/draw-parameters --check
	@.ci/draw-profile --check
	@.ci/draw-rules --check

bench: setup ## benchmarks of diffing, reading and writing
	Benchmarks/run

bench-http: setup ## HTTPCore against nginx
	Benchmarks/http/run.sh

bench-service: build ## the service on one core: processor time, memory, latency; needs wrk
	Benchmarks/service/run

bench-store: build ## the same posts to each store: requests, processor time, round trips; needs wrk and redis-server
	Benchmarks/store/run
	Benchmarks/store/writers
	Benchmarks/store/writers --sessions 60
	Benchmarks/store/writers --nodes 3 --loops 2

attack: build ## attack the server beside an innocent client, 12 s an attack; ATTACK="--quick --check" and the like
	Benchmarks/attack/run $(ATTACK)

targets: ## draw the targets of docs/architecture.md anew, after a change of Package.swift
	.ci/draw-targets

pictures: setup-test build ## the moving picture and the charts of docs/images anew; takes packages from PyPI
	@test -x .build/pictures-venv/bin/python || python3 -m venv .build/pictures-venv
	@.build/pictures-venv/bin/pip install --quiet pillow matplotlib
	.build/pictures-venv/bin/python Tests/Page/moving
	.build/pictures-venv/bin/python Benchmarks/charts/draw
	Benchmarks/charts/stages

image: ## build the images diffserver and diffserver:slim with docker or podman, try them, and list what they contain
	@IMAGE=diffserver:latest .ci/image

image-test: image ## the same

compose-test: image ## run Examples/compose.yaml with it, and try it; COMPOSE="docker compose" or podman-compose, by default the engine's
	.ci/compose

package: setup-package build ## a Debian package in .build/package, its symbols, and a list of what it contains
	Packaging/package

package-test: package ## try the package in a Debian of its own; needs root
	Packaging/try

dist: build setup-package ## a tarball in .build/dist: the server with the libraries that it uses, for glibc 2.35 and newer
	Packaging/dist

dist-test: dist ## try the tarball in a Debian 12, a Debian 13, and with glibc alone; needs root
	Packaging/try-dist

clean: ## remove what was built
	rm -rf .build Benchmarks/.build Benchmarks/http/EchoServer/.build Tests/Fuzz/.build Tests/Fuzz/http-parser/.build Tests/Fuzz/work/.build
