#!/usr/bin/env python3
# The application's own trace as a competitor: its span log alone, nothing from the kernel.
# usage: app_trace.py SPANS >GRAPH
#
# The claim is the one that a span viewer draws: while a span is entered, its request runs.
import collections
import sys

from graph_text import GraphText
from span_log import Spans, read_marks
from wall import write_requests


def convert(lines):
    graph = GraphText()
    spans = Spans(graph)
    for mark in read_marks(lines):
        spans.replay(mark)
    spans.finish()
    work, schedule = collections.defaultdict(list), collections.defaultdict(list)
    for tid, life, from_ns, to_ns in spans.bindings:
        if life.owner is not None:
            work[life.owner].append((tid, from_ns, to_ns))
        schedule[tid].append((from_ns, to_ns, "running"))
    # Nested spans of one thread are one stretch of running.
    for tid, pieces in schedule.items():
        merged = []
        for piece in sorted(pieces):
            if merged and piece[0] < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], piece[1]), "running")
            else:
                merged.append(piece)
        schedule[tid] = merged
    write_requests(graph, spans.requests(), work, schedule, {}, "unknown")
    return graph


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8", errors="replace") as span_log:
        convert(span_log).write(sys.stdout)
