#!/usr/bin/env python3
"""Prints what recording adds to a workload, beside what perf record adds.

    overhead.py nop|futex|fio|redis [--build DIR] [--rounds N] [--ops N] [--recorder drain|cprof]

Rounds are interleaved (nothing, cprof, perf, nothing, ...) and medians taken, since a virtual
machine's speed drifts by more than the difference. The workload runs on CPU 0, recorders on CPU 1.
Run as root, on a machine with nothing else to do. --recorder drain measures the kernel side alone:
what it captures is thrown away.
"""

import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import processes
import results
import workloads

# Operations a round, and the adapter whose events are recorded.
WORKLOADS = {
    "nop": (400000, "io_uring"),
    "futex": (100000, "sched"),
    "fio": (200000, "io_uring"),
    "redis": (100000, "sched"),
}
# What has perf see the same as an adapter. That of sched records the whole system.
PERF = {
    "io_uring": ["record", "-m", "2048", "-e",
                 "io_uring:io_uring_submit_req,io_uring:io_uring_complete"],
    "sched": ["sched", "record", "-m", "2048"],
}
SETTLE_S = 0.6  # from starting a recorder to its being attached


def open_workload(name, build, folder):
    if name == "fio":
        return workloads.Fio(folder)
    if name == "redis":
        return workloads.Redis(folder)
    return workloads.Loop(build, {"nop": "nop_loop", "futex": "futex_ping_pong"}[name])


class Round:
    """One run of the workload under each recorder in turn."""

    def __init__(self, name, build, folder, operations, settle_s=SETTLE_S):
        self.build, self.operations = build, operations
        self.settle_s = settle_s
        self.path = f"{folder}/recording"
        self.workload = open_workload(name, build, folder)
        _, self.adapter = WORKLOADS[name]
        self.system_wide = self.adapter == "sched"

    def nothing(self):
        return self._row(self.workload.run(self.operations), 0, 0, 0)

    def cprof(self):
        command = [f"{self.build}/cmd/cprof", "record", "-F", "0", "-e", self.adapter, "-o",
                   self.path]
        times, output = self._record(command, ["-a"])
        kept = re.search(r"\((\d+) events\)", output)
        lost = re.search(r"Lost (?:at least )?(\d+) events", output)
        if not kept:
            sys.exit("bench: cprof record failed: " + output)
        lost = int(lost.group(1)) if lost else 0
        return self._row(times, int(kept.group(1)), lost, os.path.getsize(self.path))

    def perf(self):
        # perf sched record is system-wide already.
        times, output = self._record(["perf", *PERF[self.adapter], "-o", self.path], [])
        if not os.path.exists(self.path):
            sys.exit("bench: perf record failed: " + output)
        kept, lost = processes.perf_counts(self.path)
        return self._row(times, kept, lost, os.path.getsize(self.path))

    def drain(self):
        command = processes.pinned(workloads.OTHER_CPU,
                                   [f"{self.build}/tests/bench/capture_drain", self.adapter])
        if not self.system_wide:
            command.append(str(self.workload.pid))
        recorder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    text=True)
        if recorder.stdout.readline().strip() != "ready":
            sys.exit("bench: capture_drain does not start")
        times = self.workload.run(self.operations)
        output, _ = recorder.communicate("")
        _, kept, lost = [int(word) for word in re.findall(r"\d+", output)]
        return self._row(times, kept, lost, 0)

    def _record(self, command, system_wide):
        """Times and what the recorder said; it runs around the workload, or beside it."""
        if os.path.exists(self.path):
            os.unlink(self.path)
        command = processes.pinned(workloads.OTHER_CPU, command)
        if self.workload.pid is None:
            times = self.workload.run(self.operations, lambda words: [*command, "--", *words])
            return times, self.workload.output
        target = system_wide if self.system_wide else ["-p", str(self.workload.pid)]
        recorder = subprocess.Popen(command + target, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
        time.sleep(self.settle_s)
        times = self.workload.run(self.operations)
        recorder.send_signal(signal.SIGINT)
        return times, recorder.communicate()[0]

    def _row(self, times, events, lost, size):
        return {"cpu_ns": times[0], "wall_ns": times[1], "events": events, "lost": lost,
                "bytes": size}


def summarise(rows, operations):
    """Medians of the rounds of each recorder, and what they are beside those of nothing."""
    def median(label, field):
        return statistics.median(row[field] for row in rows[label])

    out = {}
    for label in rows:
        events = median(label, "events")
        cost = {"cpu_ns": median(label, "cpu_ns"), "wall_ns": median(label, "wall_ns"),
                "events": events, "bytes": median(label, "bytes"),
                "bytes_per_event": median(label, "bytes") / events if events else 0,
                "lost": sum(row["lost"] for row in rows[label]),
                "events_of_all": sum(row["events"] for row in rows[label])}
        for clock in ("cpu", "wall"):
            base = median("nothing", f"{clock}_ns")
            added = cost[f"{clock}_ns"] - base
            cost[f"slow_down_{clock}"] = cost[f"{clock}_ns"] / base if base else 0
            cost[f"added_{clock}_ns"] = added
            # Of the events that were made, kept or lost: both cost.
            made = events + median(label, "lost")
            cost[f"added_{clock}_ns_per_event"] = added * operations / made if made else 0
        out[label] = cost
    for label, cost in out.items():
        for clock in ("cpu", "wall"):
            beside = out.get("perf", {}).get(f"added_{clock}_ns")
            cost[f"of_perf_{clock}"] = cost[f"added_{clock}_ns"] / beside if beside else 0
    return out


def measure(name, build, rounds, operations=0, ours="cprof", settle_s=SETTLE_S, memory=False):
    """Interleaved rounds of one workload: their rows, and the summary of each recorder."""
    operations = operations or WORKLOADS[name][0]
    rows = {label: [] for label in ("nothing", ours, "perf")}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if memory else None) as folder:
        turn = Round(name, build, folder, operations, settle_s)
        try:
            for _ in range(rounds):
                for label, done in rows.items():
                    done.append(getattr(turn, label)())
        finally:
            turn.workload.close()
    return {"operations": operations, "rounds": rounds, "rows": rows,
            "summary": summarise(rows, operations)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--build", default="build/dev")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ops", type=int, default=0, help="operations a round")
    parser.add_argument("--recorder", choices=["drain", "cprof"], default="drain")
    parser.add_argument("--settle", type=float, default=SETTLE_S,
                        help="seconds from starting a recorder to its being attached")
    parser.add_argument("--shm", action="store_true", help="write recordings to memory")
    options = parser.parse_args()
    if options.workload == "fio" and options.recorder == "drain":
        parser.error("fio is a process of each round: --recorder cprof")
    measured = measure(options.workload, options.build, options.rounds, options.ops,
                       options.recorder, options.settle, options.shm)
    print(results.overhead_table({options.workload: measured}))


if __name__ == "__main__":
    main()
