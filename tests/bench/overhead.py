#!/usr/bin/env python3
"""Prints what recording adds to a workload, beside what perf record adds.

    overhead.py nop|futex [--build DIR] [--rounds N] [--ops N] [--recorder drain|cprof]

Rounds are interleaved (nothing, cprof, perf, nothing, ...) and medians taken, since a virtual
machine's speed drifts by more than the difference. The workload runs on CPU 0, recorders on CPU 1.
Run as root, on a machine with nothing else to do.
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

WORKLOADS = {
    # name: (program, operations a round, adapter, whether cprof records the whole system)
    "nop": ("nop_loop", 400000, "io_uring", False),
    "futex": ("futex_ping_pong", 100000, "sched", True),
}
PERF = {
    "nop": ["record", "-m", "2048", "-e",
            "io_uring:io_uring_submit_req,io_uring:io_uring_complete"],
    "futex": ["sched", "record", "-m", "2048"],
}


class Workload:
    def __init__(self, program):
        self.process = subprocess.Popen(["taskset", "-c", "0", program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.run(1000)

    def run(self, operations):
        self.process.stdin.write(f"{operations}\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def close(self):
        self.process.kill()
        self.process.wait()


def run_drain(arguments, name, workload, operations, build):
    _, _, adapter, system_wide = WORKLOADS[name]
    command = ["taskset", "-c", "1", f"{build}/tests/bench/capture_drain", adapter]
    if not system_wide:
        command.append(str(workload.process.pid))
    recorder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if recorder.stdout.readline().strip() != "ready":
        sys.exit("capture_drain does not start")
    times = workload.run(operations)
    output, _ = recorder.communicate("")
    attempted, kept, lost = [int(word) for word in re.findall(r"\d+", output)]
    return times, lost / max(1, attempted), 0.0


def run_cprof(arguments, name, workload, operations, build):
    _, _, adapter, system_wide = WORKLOADS[name]
    with tempfile.TemporaryDirectory(dir="/dev/shm" if arguments.shm else None) as folder:
        path = f"{folder}/cprof.data"
        target = ["-a"] if system_wide else ["-p", str(workload.process.pid)]
        recorder = subprocess.Popen(
            ["taskset", "-c", "1", f"{build}/cmd/cprof", "record", "-F", "0", "-e", adapter,
             "-o", path] + target, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(arguments.settle)
        times = workload.run(operations)
        recorder.send_signal(signal.SIGINT)
        output, _ = recorder.communicate()
        lost = re.search(r"(\d+) (?:events )?lost", output)
        return times, int(lost.group(1)) / operations if lost else 0.0, os.path.getsize(path)


def run_perf(arguments, name, workload, operations, build):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if arguments.shm else None) as folder:
        path = f"{folder}/perf.data"
        command = ["taskset", "-c", "1", "perf"] + PERF[name] + ["-o", path]
        if name == "nop":
            command += ["-p", str(workload.process.pid)]
        recorder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    text=True)
        time.sleep(arguments.settle)
        times = workload.run(operations)
        recorder.send_signal(signal.SIGINT)
        output, _ = recorder.communicate()
        lost = re.search(r"LOST (\d+) events", output)
        return times, int(lost.group(1)) / operations if lost else 0.0, os.path.getsize(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--build", default="build/dev")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ops", type=int, default=0, help="operations a round")
    parser.add_argument("--recorder", choices=["drain", "cprof"], default="drain")
    parser.add_argument("--settle", type=float, default=0.6,
                        help="seconds from starting a recorder to its being attached")
    parser.add_argument("--shm", action="store_true", help="write recordings to memory")
    arguments = parser.parse_args()
    program, operations, _, _ = WORKLOADS[arguments.workload]
    operations = arguments.ops or operations
    workload = Workload(f"{arguments.build}/tests/bench/{program}")
    ours = run_drain if arguments.recorder == "drain" else run_cprof
    rows = {"nothing": [], "cprof": [], "perf": []}
    for _ in range(arguments.rounds):
        rows["nothing"].append((workload.run(operations), 0.0, 0))
        rows["cprof"].append(ours(arguments, arguments.workload, workload, operations,
                                  arguments.build))
        rows["perf"].append(run_perf(arguments, arguments.workload, workload, operations,
                                     arguments.build))
    workload.close()

    base = {clock: statistics.median(row[0][clock] for row in rows["nothing"]) for clock in (0, 1)}
    print(f"{arguments.workload}: {arguments.rounds} rounds of {operations} operations, "
          f"medians in ns per operation")
    print(f"{'recorder':10} {'cpu':>9} {'added':>9} {'wall':>9} {'added':>9} {'lost':>8} "
          f"{'bytes/op':>9}")
    added = {}
    for label, results in rows.items():
        cpu = statistics.median(row[0][0] for row in results)
        wall = statistics.median(row[0][1] for row in results)
        added[label] = (cpu - base[0], wall - base[1])
        print(f"{label:10} {cpu:9.1f} {cpu - base[0]:9.1f} {wall:9.1f} {wall - base[1]:9.1f} "
              f"{max(row[1] for row in results):8.2%} "
              f"{statistics.median(row[2] for row in results) / operations:9.2f}")
    print(f"cprof adds {added['cprof'][0] / added['perf'][0]:.3f} of what perf adds in CPU time, "
          f"{added['cprof'][1] / added['perf'][1]:.3f} in wall time")


if __name__ == "__main__":
    main()
