#!/usr/bin/env python3
"""Prints what reading costs by the length of the recording: CPU time, wall time, peak memory.

    report_scale.py BUILD [MILLIONS ...]   (5 10 20 50 million half-edges if not told)

Recordings are made up by report_scale_write and removed again. CPU time is user plus system, so
other work on the machine disturbs it little; the rate is half-edges a second of that time. Wall
time shows what a second CPU is worth, on a machine that does nothing else. Beside them perf script, which must read its recording too before anybody can join anything: on what perf
recorded of the io_uring loop and of the futex ping-pong. Run that part as root.
"""
import os
import sys
import tempfile

import overhead
import processes
import results

# Half-edges are read twice where two recordings are compared.
COMMANDS = {
    "report --by request": (1, ["report", "--by", "request", "-i"]),
    "report --by thread": (1, ["report", "--by", "thread", "-i"]),
    "flame": (1, ["flame", "-o", os.devnull, "-i"]),
    "graph": (1, ["graph", "-i"]),
    "diff": (2, ["diff"]),
}
MAIN = ("report --by request", "flame", "diff")
WORKLOADS = ("server", "nop")
MILLIONS = (5, 10, 20, 50)


def read_own(build, workload, million, commands):
    """One row for each command that reads a recording of so many half-edges."""
    rows = []
    with tempfile.NamedTemporaryFile(suffix=".data") as file:
        processes.run([f"{build}/tests/bench/report_scale_write", workload, str(int(million * 1e6)),
                       file.name])
        for name in commands:
            # Only requests can be compared, and the loop has none.
            if name == "diff" and workload == "nop":
                continue
            times, words = COMMANDS[name]
            seconds, wall_s, peak_kib = processes.run(
                [f"{build}/cmd/cprof", *words, *[file.name] * times])
            rows.append({"workload": workload, "command": name, "million": times * million,
                         "file_bytes": times * os.path.getsize(file.name), "cpu_s": seconds,
                         "wall_s": wall_s, "million_per_s": times * million / seconds,
                         "peak_bytes": peak_kib * 1024})
    return rows


def read_perf(build, name, operations):
    """perf script on what perf records of a workload, as a row of the same kind."""
    with tempfile.TemporaryDirectory() as folder:
        turn = overhead.Round(name, build, folder, operations)
        try:
            events = turn.perf()["events"]
        finally:
            turn.workload.close()
        seconds, wall_s, peak_kib = processes.run(["perf", "script", "-i", turn.path])
        return {"workload": name, "command": "perf script", "million": events / 1e6,
                "file_bytes": os.path.getsize(turn.path), "cpu_s": seconds,
                "wall_s": wall_s, "million_per_s": events / 1e6 / seconds, "peak_bytes": peak_kib * 1024}


def measure(build, millions, commands=MAIN, perf_operations=(1000000, 250000)):
    """All rows: ours by length, then those of perf script."""
    rows = [row for workload in WORKLOADS for million in millions
            for row in read_own(build, workload, million, commands)]
    if perf_operations:
        rows += [read_perf(build, name, operations)
                 for name, operations in zip(("nop", "futex"), perf_operations)]
    return rows


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    millions = [float(word) for word in sys.argv[2:]] or MILLIONS
    print(results.scale_table(measure(sys.argv[1], millions, COMMANDS)))


if __name__ == "__main__":
    main()
