# Turns what is known of threads and operations into the states and the CPU time of requests.
import bisect
import heapq

# Where several hold at one instant, the first one counts.
PRECEDENCE = ("running", "runnable", "io", "blocked")


def overlaps(intervals, starts, from_ns, to_ns):
    """Pieces of sorted, disjoint (from, to, state) that lie in [from_ns, to_ns)."""
    i = max(bisect.bisect_right(starts, from_ns) - 1, 0)
    while i < len(intervals) and intervals[i][0] < to_ns:
        begin, end, state = intervals[i]
        if end > from_ns:
            yield max(begin, from_ns), min(end, to_ns), state
        i += 1


def partition(from_ns, to_ns, pieces, rest):
    """Cuts [from_ns, to_ns) into (from, to, state): the first of PRECEDENCE among the pieces that
    cover an instant, `rest` where none does."""
    pieces = sorted(piece for piece in pieces if piece[1] > from_ns and piece[0] < to_ns)
    cuts = sorted({from_ns, to_ns, *(min(max(time, from_ns), to_ns)
                                     for piece in pieces for time in piece[:2])})
    out, active, following = [], [], 0
    for begin, end in zip(cuts, cuts[1:]):
        while following < len(pieces) and pieces[following][0] <= begin:
            piece = pieces[following]
            heapq.heappush(active, (PRECEDENCE.index(piece[2]), -piece[1]))
            following += 1
        while active and -active[0][1] <= begin:
            heapq.heappop(active)
        state = PRECEDENCE[active[0][0]] if active else rest
        if out and out[-1][2] == state:
            out[-1] = (out[-1][0], end, state)
        else:
            out.append((begin, end, state))
    return out


def write_requests(graph, requests, work, schedule, operations, rest):
    """work: {request life: [(tid, from, to)]}; operations: {request life: [(from, to)]}; rest: the
    state of an instant at which nothing is known to have gone on for the request."""
    starts = {tid: [piece[0] for piece in pieces] for tid, pieces in schedule.items()}
    for request in requests:
        pieces, cpu_ns = [], 0
        for tid, from_ns, to_ns in work.get(request, ()):
            for piece in overlaps(schedule.get(tid, []), starts.get(tid, []), from_ns, to_ns):
                pieces.append(piece)
                if piece[2] == "running":
                    cpu_ns += piece[1] - piece[0]
        pieces += [(from_ns, to_ns, "io") for from_ns, to_ns in operations.get(request, ())]
        for from_ns, to_ns, state in partition(request.begin_ns, request.end_ns, pieces, rest):
            graph.state(request.node, state, from_ns, to_ns)
        graph.cost(request.node, "cpu_ns", cpu_ns, cpu_ns, cpu_ns)
