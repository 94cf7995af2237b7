# Programs under measurement: what they cost, on which machine, and what their recordings hold.
import os
import pathlib
import re
import struct
import subprocess
import sys

# Record types of perf.data; see tools/perf/Documentation/perf.data-file-format.txt.
PERF_LOST, PERF_SAMPLE, PERF_LOST_SAMPLES = 2, 9, 13
# Where the data lie is said behind the magic, two sizes, and the place of the attributes.
PERF_DATA_OFFSET = 8 + 8 + 8 + 16


def pinned(cpu, command):
    return ["taskset", "-c", str(cpu), *map(str, command)]


# A child's peak counts from the memory of who forks it: so that is as small as can be.
FORK = """
import os, sys, time
begin = time.monotonic()
child = os.fork()
if child == 0:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0), os.dup2(null, 1)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status) != 0)
"""


def run(command):
    """Runs it with its output thrown away; CPU seconds, seconds and peak KiB of that process."""
    done = subprocess.run([sys.executable, "-ISc", FORK, *command], stdout=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit("bench: failed: " + " ".join(command))
    cpu_s, wall_s, peak_kib = done.stdout.split()
    return float(cpu_s), float(wall_s), int(peak_kib)


def cpu_ns(pid):
    """CPU time that the threads of a process have had."""
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks)


def perf_counts(path):
    """Samples and lost samples of a perf.data file."""
    data = pathlib.Path(path).read_bytes()
    at, size = struct.unpack_from("<2Q", data, PERF_DATA_OFFSET)
    end = at + size
    samples, told, counted = 0, 0, 0
    record = struct.Struct("<IHH").unpack_from
    while at < end:
        kind, _, length = record(data, at)
        if length < 8:
            sys.exit(f"bench: {path} is no perf.data file that can be read")
        if kind == PERF_SAMPLE:
            samples += 1
        elif kind == PERF_LOST:
            told += struct.unpack_from("<2Q", data, at + 8)[1]
        elif kind == PERF_LOST_SAMPLES:
            counted += struct.unpack_from("<Q", data, at + 8)[0]
        at += length
    # The kernel tells of each loss in the ring, and newer ones count them all once more at the end.
    return samples, max(told, counted)


def machine():
    """What figures depend on. Names neither host nor day."""
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    perf = subprocess.run(["perf", "--version"], capture_output=True, text=True, check=False)
    return {"cpu": model.group(1) if model else os.uname().machine, "cpus": os.cpu_count(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "kernel": os.uname().release, "perf": perf.stdout.split()[-1] if perf.stdout else "",
            "load_before": os.getloadavg()[0]}
