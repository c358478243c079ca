# Everything lives in .venv. Each target sets up what it needs; `make setup` does only that.
.DEFAULT_GOAL := help
.PHONY: help setup compiled system wasm run test test-quick test-long test-wasm test-ray test-team test-chaos test-vm test-as-user coverage mutants check bench bench-scale bench-tasks bench-flows bench-voice profile format docs bundle release lock clean

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
CONFORMANCE := tests/conformance/node_modules/.ready
REFERENCE := tests/reference_servers/.venv/.ready
MODELS := tests/models/.venv/.ready
SERVICES := tests/services/.venv/.ready
ZWAVE := tests/zwave/node_modules/.ready
TASKS := bench/tasks/servers/.venv/.ready
DOJO := bench/flows/programs/.venv/.ready
VIEWS := tests/views/node_modules/.ready
OPENID := tests/team/oidc/node_modules/.ready
SHOP := tests/shop/node_modules/.ready
INSPECTOR := tests/inspector/node_modules/.ready
# Three more than the two cores that this should run on: tests spend time waiting for servers and kernels.
WORKERS ?= 5

# pytest rewrites test files; keeping the bytecode halves the time each worker takes to collect the tests.
KEEP_BYTECODE := PYTHONDONTWRITEBYTECODE=

# Folders or files, to run only part of the tests: make coverage TESTS=tests/unit/run
TESTS ?=

# Tests of what protects a person, whose outcome may depend on who they are.
PROTECTION := tests/unit/trust tests/unit/audit tests/unit/journal tests/unit/kernel tests/unit/ot_confinement tests/unit/config tests/unit/execution \
	tests/unit/proxy/test_pins.py tests/unit/workers/test_locks.py tests/abuse tests/confine tests/e2e/test_audit.py \
	tests/e2e/test_cli_trust.py tests/e2e/test_cloned_repository.py tests/e2e/test_cli_extensions.py tests/e2e/test_http_crowds.py \
	tests/e2e/test_http_unix.py

help:  ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## set up .venv

$(READY): requirements-dev.txt pyproject.toml scripts/setup
	@PYTHON=$(PYTHON) scripts/setup
	@touch $@

# Tests start hundreds of processes; without bytecode on disk, each would compile what it imports.
compiled: setup
	@$(BIN)/python -m compileall -q src

system: setup
	@scripts/install-system-packages

wasm: setup  ## make the component of the engine `wasm`, where the sources of the kernel have changed
	@$(BIN)/python -m scripts.build_wasm_kernel --compile .cache/wasm

$(CONFORMANCE): tests/conformance/package.json tests/conformance/package-lock.json | system
	@scripts/install-conformance-suite && touch $@ || true

$(REFERENCE): tests/reference_servers/package-lock.json tests/reference_servers/requirements.txt $(CONFORMANCE) | system
	@scripts/install-reference-servers && touch $@ || true

$(MODELS): tests/models/package-lock.json tests/models/requirements.txt $(CONFORMANCE) | system
	@scripts/install-model-servers && touch $@ || true

$(SERVICES): tests/services/package-lock.json tests/services/requirements.txt $(CONFORMANCE) | system
	@scripts/install-service-clients && touch $@ || true

$(ZWAVE): tests/zwave/package.json tests/zwave/package-lock.json $(CONFORMANCE) | system
	@scripts/install-zwave-network && touch $@ || true

$(VIEWS): tests/views/package.json tests/views/package-lock.json $(CONFORMANCE) | system
	@scripts/install-view-host && touch $@ || true

$(OPENID): tests/team/oidc/package.json tests/team/oidc/package-lock.json $(CONFORMANCE) | system
	@scripts/install-openid-provider && touch $@ || true

$(SHOP): tests/shop/package.json tests/shop/package-lock.json $(CONFORMANCE) | system
	@scripts/install-shop-tools && touch $@ || true

$(INSPECTOR): tests/inspector/package.json tests/inspector/package-lock.json $(CONFORMANCE) | system
	@scripts/install-inspector && touch $@ || true

$(TASKS): bench/tasks/servers/package-lock.json bench/tasks/servers/requirements.txt $(REFERENCE) | system
	@scripts/install-task-servers && touch $@ || true

$(DOJO): bench/flows/programs/requirements.txt | setup
	@scripts/install-agentdojo && touch $@

run: setup  ## show a short session with the real server
	@$(BIN)/onetool demo

test: compiled system wasm $(CONFORMANCE) $(REFERENCE) $(MODELS) $(SERVICES) $(ZWAVE) $(OPENID) $(VIEWS) $(SHOP)  ## run the tests
	@$(KEEP_BYTECODE) $(BIN)/pytest -n $(WORKERS) --dist loadgroup --repeat-failed

# Without the rooms whose tests make environments, start servers and wear kernels out, and without properties, which try many examples.
# Three workers are enough: these tests wait for little, and each worker collects them all.
test-quick: compiled  ## run the quick tests of single parts, between two edits (a minute and a half)
	@$(KEEP_BYTECODE) $(BIN)/pytest -q -n 3 --dist loadgroup -m 'not long and not ray and not release and not hypothesis' \
		--ignore tests/unit/workers --ignore tests/unit/proxy --ignore tests/unit/kernel --ignore tests/unit/mcp_guide \
		--ignore-glob 'tests/unit/test_isolate*' \
		$(or $(TESTS),tests/unit)

test-long: compiled system wasm $(CONFORMANCE) $(REFERENCE) $(MODELS) $(SERVICES) $(ZWAVE) $(OPENID) $(VIEWS) $(SHOP) $(INSPECTOR)  ## run the tests that are too long for `make test`
	@$(KEEP_BYTECODE) $(BIN)/pytest -n $(WORKERS) --dist loadgroup --repeat-failed -m long
	@$(KEEP_BYTECODE) EXAMPLES=500 $(BIN)/pytest -n $(WORKERS) --dist loadgroup --repeat-failed -m 'hypothesis and not long and not ray and not release'

# Those whose tests run code, by the server of each test or by one of their own; what is skipped is listed with its reason.
WASM := tests/unit/kernel tests/unit/run tests/unit/journal tests/unit/ot_kernel tests/unit/results tests/unit/skills tests/packs/undo tests/spec \
	tests/abuse tests/cpython

test-wasm: compiled wasm  ## run the tests of code in a run on the engine `wasm`, and list those that only hold for processes
	@$(KEEP_BYTECODE) $(BIN)/pytest -q -n $(WORKERS) --dist loadgroup -rs --engine wasm $(or $(TESTS),$(WASM))

test-ray: compiled  ## run the tests of workers on Ray, on a cluster of two nodes that they start here
	@$(KEEP_BYTECODE) $(BIN)/pytest -m ray tests/ray

test-team: compiled system  ## kill replicas 200 times, load them with 200 clients, and the other long tests of a team
	@$(KEEP_BYTECODE) $(BIN)/pytest -m long tests/team tests/store

test-chaos: compiled system  ## break replicas while people work, and compare what they were told with what happened; MINUTES, SEED, ONE=1 for one person's server
	@scripts/install-chaos-packages
	@$(BIN)/python -m tests.chaos $(if $(ONE),--one) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

test-vm: setup wasm  ## boot Debian's kernels in an emulator, as root, and try there what must be refused (an hour, more on a busy machine); VM names some of them
	@scripts/install-vm-packages
	@$(BIN)/python -m tests.vm $(VM)

test-as-user: compiled  ## run the tests of what protects a person as an ordinary user, also as root; TESTS names others
	@$(KEEP_BYTECODE) scripts/test-as-user -n $(WORKERS) --dist loadgroup $(or $(TESTS),$(PROTECTION))

coverage: compiled system $(CONFORMANCE) $(REFERENCE) $(MODELS) $(SERVICES) $(ZWAVE) $(OPENID) $(VIEWS) $(SHOP)  ## run all tests, and list the branches that none takes
	@rm -f .coverage .coverage.*
	@# CPython's own tests look at whether they are traced, and what they test is inside kernels.
	@$(KEEP_BYTECODE) $(BIN)/coverage run -m pytest -n $(WORKERS) --dist loadgroup --ignore tests/cpython $(TESTS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

mutants: setup  ## change the most important code, and list the changes no test notices (20 minutes)
	@$(BIN)/python -m scripts.mutants $(MUTANTS)

check: setup  ## check formatting, lint, types and layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin src
	$(BIN)/python -m scripts.types_elsewhere win32 370
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.renamed
	$(BIN)/python -m scripts.build_wasm_kernel --check

# PEERS=1 installs other programs of the kind apart and measures them in the same rounds, of which there are ROUNDS.
bench: compiled $(REFERENCE) $(if $(PEERS),$(TASKS))  ## run the benchmarks, each figure next to its target; PEERS=1 compares with others
	@ROUNDS=$(ROUNDS) $(BIN)/python -m $(if $(PEERS),bench.side_by_side,bench)

bench-scale: setup  ## measure how figures grow with runs, tools, servers, clients, results (six minutes)
	@$(BIN)/python -m bench.side_by_side bench.scale

profile: setup  ## show where processor time goes; PROFILE=processes for one profile, --json for JSON
	@$(BIN)/python -m bench.profiles $(PROFILE)

bench-tasks: compiled $(REFERENCE) $(TASKS)  ## count the tokens of twelve whole tasks, directly and through `run` (two minutes)
	@$(BIN)/python -m bench.side_by_side bench.tasks.parts

bench-flows: compiled $(DOJO)  ## count attacks stopped and questions asked by rules on flows, on AgentDojo's programs (15 minutes); FLOWS="by value" for a part
	@$(BIN)/python -m bench.flows $(if $(FLOWS),"$(FLOWS)")

bench-voice: setup  ## measure spoken commands: voices, rates, rooms (an hour); SLICE=1/10 for a part
	@$(BIN)/python -m bench.voice_rooms $(SLICE)

format: setup  ## reformat the files as `make check` wants them
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

docs: setup  ## regenerate what the docs derive from the source, and build the site (site/index.html)
	@$(BIN)/python -m scripts.docs_tables
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bundle: setup  ## make the bundle that Claude Desktop installs (dist/)
	@$(BIN)/python -m scripts.bundle

# Two components made from the same sources differ: whoever makes a release again names the one that it has.
release: compiled wasm $(SHOP)  ## make and check everything that is published of a version (dist/release); COMPONENT=FILE hands over its component
	@$(BIN)/python -m scripts.release $(if $(COMPONENT),--component $(COMPONENT))
	@$(KEEP_BYTECODE) $(BIN)/pytest -q -n $(WORKERS) --dist loadgroup --repeat-failed -m release tests/wheel tests/shop

lock: setup  ## update the pinned dependencies
	scripts/lock

clean:  ## remove everything that make set up
	rm -rf .venv .cache/vm tests/ray/.cache tests/conformance/node_modules tests/zwave/node_modules tests/views/node_modules tests/shop/node_modules tests/inspector/node_modules tests/models/node_modules tests/models/.venv tests/reference_servers/node_modules \
		tests/reference_servers/.venv bench/tasks/servers/node_modules bench/tasks/servers/.venv tests/services/node_modules tests/services/.venv bench/peers/.venv bench/results .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage .coverage.* site
