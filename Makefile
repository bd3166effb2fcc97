# SPDX-License-Identifier: Apache-2.0
# A thin front of CMake: what people type. Everything real is in CMakeLists.txt, cmake/ and scripts/.
#
#   make            the program at build/fathom
#   make demo       install what is missing, build, analyse a real program's trace, write report.html
#   make check      build and run the quick tests
#   make test       build and run all tests
#   make help       all targets

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
CMAKE ?= cmake
BUILD := build
STAMPS := $(BUILD)/.dependencies
export JOBS

# Builds that came along with a copy of the tree are of no use (said on standard error).
_ := $(shell scripts/moved-builds.sh)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
# apt-get and the generator of the build each want to be alone, also where make is called with -j; compilers run
# in parallel by themselves (JOBS).
.NOTPARALLEL:
.PHONY: all help dependencies soak check test test-gpu demo bench bench-gpu lint hooks format install uninstall asan tsan fuzz clean

all: $(BUILD)/build.ninja  ## build the program at build/fathom (release)
	@scripts/optional-parts.sh | cmp -s - $(BUILD)/optional-parts || $(CMAKE) --preset release
	@$(CMAKE) --build $(BUILD) --parallel $(JOBS)
	@scripts/left-out.sh $(BUILD)/left-out

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 16

# One stamp for each group of Debian packages, so that a second call costs nothing. What is missing is
# installed with apt-get by root or through sudo; FATHOM_NO_INSTALL=1 only says what is missing.
$(STAMPS)/%: scripts/install-dependencies.sh
	@scripts/install-dependencies.sh $*
	@mkdir -p $(STAMPS) && touch $@

# What the program can do without: where it cannot be installed, the build goes on, and says what is left out.
$(STAMPS)/parts: scripts/install-dependencies.sh
	@scripts/install-dependencies.sh parts || echo 'fathom: going on without them'
	@mkdir -p $(STAMPS) && touch $@

# So can the tests: what is not there is skipped, and said.
$(STAMPS)/test: scripts/install-dependencies.sh
	@scripts/install-dependencies.sh test || echo 'fathom: going on without them; tests that need them are skipped'
	@mkdir -p $(STAMPS) && touch $@

dependencies: $(STAMPS)/build $(STAMPS)/parts $(STAMPS)/check $(STAMPS)/test $(STAMPS)/lint $(STAMPS)/fuzz $(STAMPS)/demo $(STAMPS)/bench  ## install everything that any target needs

$(BUILD)/build.ninja: CMakeLists.txt CMakePresets.json | $(STAMPS)/build $(STAMPS)/parts
	@$(CMAKE) --preset release

check: | $(STAMPS)/check all  ## the tests that find most for their time: for daily work, below two minutes
	@scripts/run-tests.sh --quick

test: | $(STAMPS)/check $(STAMPS)/test all  ## all tests; the last line is "N passed, N failed, N skipped"
	@scripts/run-tests.sh

test-gpu: all  ## what needs a graphics card: oracles, compute-sanitizer; kept in bench/results/
	@$(CMAKE) --build $(BUILD) --parallel $(JOBS) --target oracle_tests
	@bench/run_gpu.sh test

demo: all | $(STAMPS)/demo  ## a real program's trace, its profile on the terminal, report.html
	@scripts/demo.sh

bench: all | $(STAMPS)/bench  ## speed, as ratios within one run; see bench/RESULTS.md
	@$(CMAKE) --build $(BUILD) --parallel $(JOBS) --target benches
	@bench/run.sh

bench-gpu: all  ## speed on a graphics card; kept in bench/results/
	@$(CMAKE) --build $(BUILD) --parallel $(JOBS) --target benches card_floor
	@bench/run_gpu.sh

lint: $(BUILD)/build.ninja | $(STAMPS)/lint  ## clang-format, clang-tidy, cppcheck, shellcheck: what changed since it was clean
	@scripts/lint.sh

hooks:  ## format, lint and names of what is committed are looked at before each commit
	@scripts/install-hooks.sh

format: | $(STAMPS)/lint  ## format all C sources in place
	@scripts/list-sources.sh c | xargs clang-format -i

install: all  ## install under PREFIX (default /usr/local), below DESTDIR
	@scripts/install.sh $(BUILD) '$(PREFIX)' '$(DESTDIR)'

uninstall:  ## remove what the last make install put there (same DESTDIR)
	@scripts/uninstall.sh '$(BUILD)/install_manifest.txt' '$(DESTDIR)'

asan: | $(STAMPS)/build $(STAMPS)/check  ## unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/run-tests.sh --only asan

tsan: | $(STAMPS)/build $(STAMPS)/check  ## threaded unit tests under ThreadSanitizer
	@scripts/run-tests.sh --only tsan

fuzz: | $(STAMPS)/build $(STAMPS)/fuzz  ## a short libFuzzer run of every reader (FUZZ_SECONDS each, default 20)
	@scripts/fuzz.sh

soak: all | $(STAMPS)/check  ## hostile tracees, traces and profiles for SOAK_SECONDS (600), half under ASan
	@scripts/soak.sh

clean:  ## remove what was built
	@rm -rf $(BUILD) build-asan build-tsan build-fuzz report.html
