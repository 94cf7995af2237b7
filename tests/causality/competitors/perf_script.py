# Reads what `perf script --ns --show-lost-events -F comm,pid,tid,cpu,time,event,trace` prints.
import collections
import re

LINE = re.compile(r"\s*(.{1,16}?)\s+(-?\d+)/(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(.*)")
EVENT = re.compile(r"(?:(\d+)\s+)?([\w-]+(?::\w+)?):\s?(.*)")
SWITCH = re.compile(r"prev_comm=.* prev_pid=(\d+) prev_prio=\S+ prev_state=(\S+) ==> "
                    r"next_comm=(.*) next_pid=(\d+) next_prio=")
WAKING = re.compile(r"comm=.* pid=(\d+) prio=")
FORK = re.compile(r"comm=.* pid=(\d+) child_comm=.* child_pid=(\d+)")
LOST = re.compile(r"PERF_RECORD_LOST\D+(\d+)")
# The first bits of an interrupt's second record of a waking come within this.
TWIN_NS = 20000

# name: without its subsystem. event: "stream.sequence" of this text, to tell halves apart.
Event = collections.namedtuple("Event", "time_ns event comm pid tid cpu name period text")


def read_events(lines):
    """Events in the order of the text, which is that of time. Losses are named "lost"."""
    counts = collections.Counter()
    for line in lines:
        found = LINE.match(line)
        if found is None:
            continue
        comm, pid, tid, cpu, seconds, nanoseconds, rest = found.groups()
        time_ns = int(seconds) * 1000000000 + int(nanoseconds)
        cpu = int(cpu)
        lost = LOST.match(rest)
        if lost is not None:
            yield Event(time_ns, "", comm, int(pid), int(tid), cpu, "lost", 0, lost.group(1))
            continue
        event = EVENT.match(rest)
        if event is None:
            continue
        period, name, text = event.groups()
        counts[cpu] += 1
        yield Event(time_ns, f"{cpu}.{counts[cpu]}", comm, int(pid), int(tid), cpu,
                    name.split(":")[-1], int(period or 0), text)


def merge_interrupt_twins(events):
    """A waking that was recorded a second time under `--filter 'common_flags & 24'` came from an
    interrupt. Yields (event, is_interrupt), the twins merged."""
    held = {}  # cpu -> a waking that may still get its twin
    for event in events:
        before = held.pop(event.cpu, None)
        if before is not None:
            is_twin = (event.name == "sched_waking" and event.text == before.text and
                       event.tid == before.tid and event.time_ns - before.time_ns < TWIN_NS)
            yield before, is_twin
            if is_twin:
                continue
        if event.name == "sched_waking":
            held[event.cpu] = event
        else:
            yield event, False
    for event in held.values():
        yield event, False


class Family:
    """The tids of a process, its threads and its children, as forks tell them."""

    def __init__(self, pid):
        self.tids = {pid}

    def see(self, event):
        """Returns the child's tid where this is a fork in the family."""
        if event.name == "sched_process_fork":
            parent, child = map(int, FORK.match(event.text).groups())
            if parent in self.tids:
                self.tids.add(child)
                return child
        if event.pid in self.tids:
            self.tids.add(event.tid)
        return None


class Schedule:
    """On-CPU, runnable and blocked intervals of threads, from switches and wakings."""

    def __init__(self):
        self.intervals = collections.defaultdict(list)  # tid -> [(from_ns, to_ns, state)]
        self._now = {}  # tid -> (since_ns, state)

    def _turn(self, tid, time_ns, state):
        since_ns, before = self._now.get(tid, (time_ns, None))
        if before is not None and time_ns > since_ns:
            self.intervals[tid].append((since_ns, time_ns, before))
        self._now[tid] = (time_ns, state)

    def switch(self, time_ns, text):
        """Returns (tid switched out, whether it blocked, tid switched in)."""
        prev, state, _, following = SWITCH.match(text).groups()
        blocked = not state.startswith("R")
        self._turn(int(prev), time_ns, "blocked" if blocked else "runnable")
        self._turn(int(following), time_ns, "running")
        return int(prev), blocked, int(following)

    def waking(self, time_ns, tid):
        if self._now.get(tid, (0, ""))[1] == "blocked":
            self._turn(tid, time_ns, "runnable")

    def finish(self, time_ns):
        for tid in list(self._now):
            self._turn(tid, time_ns, "running")
