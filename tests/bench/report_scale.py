#!/usr/bin/env python3
# What reading costs by the length of the recording: CPU time and peak memory of report, flame, graph.
"""usage: report_scale.py BUILD_DIR [MILLIONS ...]   (5 10 20 million half-edges if not told)

Recordings are made up by report_scale_write and removed again. CPU time is user plus system, so
other work on the machine disturbs it little; the rate is half-edges a second of that time.
"""
import os
import sys
import tempfile

COMMANDS = {
    "report --by request": ["report", "--by", "request"],
    "report --by thread": ["report", "--by", "thread"],
    "flame": ["flame", "-o", os.devnull],
    "graph": ["graph"],
}


def run(arguments):
    """Runs it with its output thrown away; returns CPU seconds and peak KiB of that process."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.execv(arguments[0], arguments)
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit("report_scale: failed: " + " ".join(arguments))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = sys.argv[1]
    millions = [float(word) for word in sys.argv[2:]] or [5, 10, 20]
    cprof = os.path.join(build, "cmd", "cprof")
    write = os.path.join(build, "tests", "bench", "report_scale_write")
    print(f"{'workload':9} {'million':>7} {'file MB':>8}  {'command':20} {'CPU s':>7} "
          f"{'M half-edges/s':>14} {'RSS MiB':>8}")
    for workload in ("server", "nop"):
        for count in millions:
            with tempfile.NamedTemporaryFile(suffix=".data") as file:
                run([write, workload, str(int(count * 1e6)), file.name])
                size = os.path.getsize(file.name) / 1e6
                for name, words in COMMANDS.items():
                    seconds, peak = run([cprof, *words, "-i", file.name])
                    print(f"{workload:9} {count:7g} {size:8.1f}  {name:20} {seconds:7.2f} "
                          f"{count / seconds:14.2f} {peak / 1024:8.1f}", flush=True)


if __name__ == "__main__":
    main()
