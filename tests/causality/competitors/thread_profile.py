#!/usr/bin/env python3
# Profiles by thread as competitors: `perf record` (CPU samples) and an off-CPU profile (switches).
# usage: thread_profile.py --pid PID [--spans SPANS] cpu|offcpu PERF_SCRIPT_TEXT >GRAPH
#
# Without a span log the claim is what the tool itself prints: time of threads, of no request.
# With one it is the claim that its user makes: a thread works for the request that began on it
# last, until that request ends. This is exact where each request stays on its thread.
import argparse
import bisect
import collections
import math
import sys

import perf_script
from graph_text import GraphText
from span_log import Spans, read_marks
from wall import write_requests


class Affinity:
    """Which request each thread is taken to work for."""

    def __init__(self, graph, lines):
        spans = Spans(graph)
        for mark in read_marks(lines):
            if mark.verb in ("begin", "end") and mark.node[1] == "request":
                spans.replay(mark)
        self.requests = spans.requests()
        self.work = collections.defaultdict(list)  # life -> [(tid, from, to)]
        by_tid = collections.defaultdict(list)
        for request in self.requests:
            by_tid[request.tid].append(request)
        for tid, requests in by_tid.items():
            self._cut(tid, requests)

    def _cut(self, tid, requests):
        """The request that began last counts, until it ends; then the one before it again."""
        times = sorted({time for request in requests
                        for time in (request.begin_ns, request.end_ns)})
        starting = collections.defaultdict(list)
        for request in requests:
            starting[request.begin_ns].append(request)
        active = []
        for begin, end in zip(times, times[1:]):
            active += starting[begin]
            while active and active[-1].end_ns <= begin:
                active.pop()
            if active:
                self.work[active[-1]].append((tid, begin, end))

    def write(self, graph):
        for request, stretches in self.work.items():
            for tid, from_ns, to_ns in stretches:
                graph.binding(graph.thread(tid, from_ns), request.node, from_ns, to_ns, "inferred")


def convert_cpu(graph, events, affinity, pid):
    family = perf_script.Family(pid)
    samples = collections.defaultdict(list)  # tid -> times
    period_ns = 0
    for event in events:
        family.see(event)
        if event.tid in family.tids and event.name == "cpu-clock":
            thread = graph.thread(event.tid, event.time_ns, event.comm)
            graph.sample(thread, thread, event.time_ns, event.period)
            samples[event.tid].append(event.time_ns)
            period_ns = event.period
    if affinity is None:
        return
    affinity.write(graph)
    for request in affinity.requests:
        count = sum(1 for tid, from_ns, to_ns in affinity.work.get(request, ())
                    for time_ns in _between(samples[tid], from_ns, to_ns))
        # 95 % of a Poisson count; no sample says "up to three".
        spread = 1.96 * math.sqrt(count) if count else 3
        graph.cost(request.node, "cpu_ns", count * period_ns,
                   max(0, count - spread) * period_ns, (count + spread) * period_ns)


def _between(times, from_ns, to_ns):
    return times[bisect.bisect_left(times, from_ns):bisect.bisect_left(times, to_ns)]


def convert_off_cpu(graph, events, affinity, pid):
    family = perf_script.Family(pid)
    schedule = perf_script.Schedule()
    last_ns = 0
    for event in events:
        family.see(event)
        last_ns = event.time_ns
        if event.name == "sched_switch":
            schedule.switch(event.time_ns, event.text)
    schedule.finish(last_ns)
    for tid in family.tids:
        graph.thread(tid, last_ns)
    if affinity is None:
        return
    affinity.write(graph)
    write_requests(graph, affinity.requests, affinity.work, schedule.intervals, {}, "unknown")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--spans")
    parser.add_argument("profile", choices=("cpu", "offcpu"))
    parser.add_argument("text")
    options = parser.parse_args()
    graph = GraphText()
    affinity = None
    if options.spans:
        with open(options.spans, encoding="utf-8", errors="replace") as span_log:
            affinity = Affinity(graph, span_log)
    convert = convert_cpu if options.profile == "cpu" else convert_off_cpu
    with open(options.text, encoding="utf-8", errors="replace") as text:
        convert(graph, perf_script.read_events(text), affinity, options.pid)
    graph.write(sys.stdout)


if __name__ == "__main__":
    main()
