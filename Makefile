# Two commands do all the set-up: each makes its own virtual environment.
PYTHON ?= python3.11
TORCH = torch==2.13.0

.PHONY: demo test torture benchmarks clean

demo: .venv-demo/ready  ## explain a pair with the embedded model, offline, and show the picture
	HF_HUB_OFFLINE=1 .venv-demo/bin/whyalike explain "A man is playing the guitar on stage." "Someone makes music for a crowd." --png demo.png --html demo.html

test: .venv-test/ready  ## everything that must hold: style, types, layers, tests
	.venv-test/bin/ruff check .
	.venv-test/bin/ruff format --check .
	.venv-test/bin/mypy
	.venv-test/bin/lint-imports
	.venv-test/bin/python -m pytest -n 2

torture: .venv-test/ready  ## kills every kind of long run at random moments and compares its files; takes about a quarter of an hour
	.venv-test/bin/python -m tests.torture

benchmarks: .venv-test/ready  ## ratios against the papers' algorithm and the limit; takes about an hour
	.venv-test/bin/python -m benchmarks.run

.venv-demo/ready: pyproject.toml
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/pip install --quiet $(TORCH) -e '.[default-model,plots]'
	touch $@

.venv-test/ready: pyproject.toml
	$(PYTHON) -m venv .venv-test
	.venv-test/bin/pip install --quiet $(TORCH) -e '.[test]'
	touch $@

clean:
	rm -rf .venv-demo .venv-test demo.png demo.html
