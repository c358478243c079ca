"""Benchmarks: `make bench` prints each figure beside its target; `make bench PEERS=1` compares, and writes a report.

A file `bench_*.py` has a function `measure(servers)` that yields lines of the table; the next benchmark is one more
such file. A benchmark reports and never fails: on a shared machine only the ratios of one run mean something.

The report has parts: `Table` and `Curve` of `bench.figures`. A module that delivers some has a function
`measure_parts(session: Session) -> Iterator[Table | Curve]`, and its name stands in `bench.side_by_side.PARTS`, in the
order of the report. It yields each part when it is measured, and tells `session.tell("6 of 12: mailbox")` meanwhile.
A `Figure` keeps the value of each round (`session.rounds` of them where rounds mean something; `figure_of(value)`
where they do not); one that could not be measured has no rounds and a `note` with the reason. What is in a part goes
into the JSON file, the table on the terminal, the page and `docs/benchmarks.md` without a further word: titles,
`about` (one sentence above it) and `notes` (below it) are written for a reader who chooses a tool. An exception from
`measure_parts` is reported in the part's place and does not end the others.
"""
