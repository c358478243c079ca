"""Benchmarks: `make bench` prints each figure beside its target.

A file `bench_*.py` has a function `measure(servers)` that yields lines of the table; the next benchmark is one more
such file. A benchmark reports and never fails: on a shared machine only the ratios of one run mean something.
"""
