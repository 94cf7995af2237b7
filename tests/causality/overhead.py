#!/usr/bin/env python3
"""What a tool costs the workload that it watches, and how right it is for that.

    overhead.py BUILD OUT.json [--quick] [--rounds N] [futex_queue|io_uring ...]

Each round runs the workload under nothing and under each tool in turn, since the speed of a machine
drifts by more than the differences; medians over the rounds count. Two runs each:
  unpaced  as fast as it goes: slow-down in CPU time and wall time, CPU of the recorder (what it
           takes to start and to stop apart), bytes
  paced    at a steady rate: p50, p99 and p99.9 of the latency of its requests, from its own log
Of cprof, the graph of the paced run is scored too: the curve of accuracy against overhead. Its
budgets are sets of adapters and sizes of rings. Run as root.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import struct
import subprocess
import sys
import tempfile

RECORD = struct.Struct("<4I8Q")
REQUEST_BEGIN, REQUEST_END = 4, 5

# Arguments of the unpaced and of the paced run.
WORKLOADS = {
    "futex_queue": (["--rate", "0", "--work", "4", "--count", "120000"],
                    ["--rate", "12000", "--work", "10", "--count", "15000"]),
    "io_uring": (["--mode", "plain", "--count", "200000"],
                 ["--mode", "plain", "--rate", "3000", "--count", "12000"]),
}
TRACE = ("sched:sched_switch,sched:sched_waking,sched:sched_process_fork,"
         "io_uring:io_uring_submit_req,io_uring:io_uring_complete,io_uring:io_uring_req_failed,"
         "io_uring:io_uring_cqe_overflow,syscalls:sys_enter_io_uring_enter,"
         "workqueue:workqueue_queue_work,workqueue:workqueue_execute_start,"
         "block:block_rq_issue,block:block_rq_complete")
CPROF = ["{build}/cmd/cprof", "record", "-q", "-o", "{data}"]
PERF = ["perf", "record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-o", "{data}"]
# From nothing to everything.
TOOLS = {
    "nothing": [],
    "cprof-app": CPROF + ["-F", "0", "-m", "4M", "-e", "app"],
    "cprof-app-sched": CPROF + ["-F", "0", "-m", "4M", "-e", "app,sched"],
    "cprof-app-io_uring": CPROF + ["-F", "0", "-m", "4M", "-e", "app,io_uring"],
    "cprof-4K": CPROF + ["-F", "0", "-m", "4K"],
    "cprof-16K": CPROF + ["-F", "0", "-m", "16K"],
    "cprof": CPROF + ["-F", "0", "-m", "32M"],
    "cprof-samples": CPROF + ["-F", "999", "-m", "32M"],
    "perf_cpu": PERF + ["-F", "999", "-e", "cpu-clock"],
    "off_cpu": PERF + ["-m", "4096", "-e", "sched:sched_switch,sched:sched_process_fork"],
    "trace": PERF + ["-m", "4096", "-e", TRACE],
}
QUICK = ("nothing", "cprof", "perf_cpu", "trace")


class Bench:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.data, self.log = f"{folder}/tool.data", f"{folder}/oracle.log"

    def _command(self, tool, workload, arguments, timed):
        words = [word.format(build=self.build, data=self.data) for word in TOOLS[tool]]
        program = [f"{self.build}/tests/causality/{workload}_workload", *arguments,
                   "--log", self.log]
        if workload == "io_uring":
            program += ["--dir", self.folder]
        if timed:
            # The workload's own CPU time, apart from that of the recorder above it.
            script = 'TIMEFORMAT="%R %U %S"; { time "$@" >/dev/null; } 2>"$0"'
            program = ["bash", "-c", script, f"{self.folder}/time", *program]
        return words + (["--"] if words else []) + program

    def _run(self, command):
        """CPU seconds of the command and all that it waited for."""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"overhead.py: error: exit {process.returncode}: {' '.join(command)}")
        return usage.ru_utime + usage.ru_stime

    def unpaced(self, tool, workload, start_s):
        total_s = self._run(self._command(tool, workload, WORKLOADS[workload][0], True))
        wall_s, user_s, system_s = map(
            float, pathlib.Path(f"{self.folder}/time").read_text(encoding="ascii").split()[-3:])
        cpu_s = user_s + system_s
        return {"wall_s": wall_s, "cpu_s": cpu_s,
                "recorder_cpu_s": max(0.0, total_s - cpu_s - start_s),
                "bytes": os.path.getsize(self.data) if TOOLS[tool] else 0}

    def start(self, tool):
        """CPU seconds of the tool around a command that does nothing."""
        words = [word.format(build=self.build, data=self.data) for word in TOOLS[tool]]
        return self._run(words + ["--", "true"]) if words else 0.0

    def paced(self, tool, workload):
        self._run(self._command(tool, workload, WORKLOADS[workload][1], False))
        result = latencies(self.log)
        if tool.startswith("cprof"):
            result.update(self._accuracy())
        return result

    def _accuracy(self):
        graph, scores = f"{self.folder}/graph.ndjson", f"{self.folder}/scores.json"
        self._run([f"{self.build}/cmd/cprof", "graph", "-i", self.data, "--format", "ndjson", "-o",
                   graph])
        self._run([f"{self.build}/tests/causality/causality_score", "--json", scores, self.log,
                   graph])
        with open(graph, encoding="utf-8") as lines:
            edges = sum(1 for line in lines if line.startswith('{"t":"edge"'))
        with open(scores, encoding="utf-8") as text:
            told = json.load(text)
        return {"edges": edges, "paced_bytes": os.path.getsize(self.data), "scores": told}


def latencies(path):
    """p50, p99 and p99.9 in ns of the requests that began and ended."""
    begins, ends = {}, {}
    content = pathlib.Path(path).read_bytes()
    for record in RECORD.iter_unpack(content[RECORD.size:]):
        if record[0] == REQUEST_BEGIN:
            begins[record[4]] = record[8]
        elif record[0] == REQUEST_END:
            ends[record[4]] = record[7]
    times = sorted(ends[key] - begins[key] for key in begins if key in ends)
    if len(times) < 100:
        sys.exit(f"overhead.py: error: {path} tells of {len(times)} requests only")
    return {f"p{name}_ns": times[min(len(times) - 1, int(len(times) * share))]
            for name, share in (("50", 0.5), ("99", 0.99), ("99.9", 0.999))}


def median_of(rows, name):
    values = [row[name] for row in rows if name in row]
    return statistics.median(values) if values else None


def ratio(value, base):
    return round(value / base, 4) if value is not None and base else None


def summary(tool, unpaced, paced, nothing):
    """Medians over the rounds, and what they are of those without a tool."""
    out = {name: median_of(unpaced, name) for name in ("wall_s", "cpu_s", "recorder_cpu_s")}
    base = {name: median_of(nothing[0], name) for name in ("wall_s", "cpu_s")}
    out["slow_down_cpu"] = ratio(out["cpu_s"], base["cpu_s"])
    out["slow_down_wall"] = ratio(out["wall_s"], base["wall_s"])
    out["recorder_cpu_share"] = ratio(out["recorder_cpu_s"], out["wall_s"])
    out["recorded_bytes"] = median_of(unpaced, "bytes")
    for name in ("p50_ns", "p99_ns", "p99.9_ns"):
        out[name] = median_of(paced, name)
        out[name.replace("_ns", "_ratio")] = ratio(out[name], median_of(nothing[1], name))
    if tool.startswith("cprof"):
        edges = median_of(paced, "edges")
        out["bytes_per_edge"] = ratio(median_of(paced, "paced_bytes"), edges)
        out["scores"] = paced[-1]["scores"]
    return out


def print_table(workload, tools):
    print(f"\n{workload}: medians; ratios to the same without a tool")
    print(f"{'tool':20}{'CPU':>7}{'wall':>7}{'rec CPU':>9}{'bytes':>12}{'B/edge':>8}"
          f"{'p50':>7}{'p99':>7}{'p99.9':>7}")
    for tool, row in tools.items():
        print(f"{tool:20}{row['slow_down_cpu']:7.2f}{row['slow_down_wall']:7.2f}"
              f"{100 * (row['recorder_cpu_share'] or 0):8.1f}%{row['recorded_bytes']:12.0f}"
              f"{row.get('bytes_per_edge') or 0:8.1f}{row['p50_ratio']:7.2f}"
              f"{row['p99_ratio']:7.2f}{row['p99.9_ratio']:7.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("--quick", action="store_true", help="one round of the main tools")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("workloads", nargs="*")
    options = parser.parse_args()
    tools = QUICK if options.quick else tuple(TOOLS)
    rounds = 1 if options.quick else options.rounds
    result = {"machine": platform.machine(), "kernel": platform.release(),
              "cpus": os.cpu_count(), "load_before": os.getloadavg()[0], "rounds": rounds,
              "workloads": {}}
    with tempfile.TemporaryDirectory(dir=options.build) as folder:
        bench = Bench(options.build, folder)
        starts = {tool: bench.start(tool) for tool in tools}
        for workload in options.workloads or WORKLOADS:
            unpaced, paced = ({tool: [] for tool in tools} for _ in range(2))
            for _ in range(rounds):
                for tool in tools:
                    unpaced[tool].append(bench.unpaced(tool, workload, starts[tool]))
                    paced[tool].append(bench.paced(tool, workload))
            nothing = unpaced["nothing"], paced["nothing"]
            rows = {tool: summary(tool, unpaced[tool], paced[tool], nothing) for tool in tools}
            for tool in tools:
                rows[tool]["recorder_start_cpu_s"] = round(starts[tool], 4)
            result["workloads"][workload] = rows
            print_table(workload, rows)
    with open(options.out, "w", encoding="utf-8") as out:
        json.dump(result, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
