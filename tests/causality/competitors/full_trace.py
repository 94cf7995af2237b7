#!/usr/bin/env python3
# Full tracepoint tracing as a competitor: every event of `perf record`, joined.
# usage: full_trace.py --pid PID [--spans SPANS] [--join newest|best] [--keep P --seed N] TEXT
#
# newest  raw keys: the newest record with that pointer, or of that thread, wins; a woken thread
#         works for whom its waker worked for. This is what scripts over traces do.
# best    the best rules known for these events: lives of pointers, wakes that ended a block,
#         interrupts kept apart, owners only where the span log says so. No straw man.
# --keep  uniform sampling of half-edges: each is kept with probability P, then joined.
import argparse
import collections
import random
import re
import sys

import perf_script
from graph_text import GraphText
from kernel_work import KernelWork
from span_log import Spans, read_marks
from wall import write_requests

IO_FIELDS = re.compile(r"ring (?P<ring>\S+), req (?P<req>\S+), user_data (?P<user_data>\S+), "
                       r"(?:opcode (?P<opcode>\w+)|"
                       r"result (?P<result>-?\d+), cflags (?P<cflags>\S+))")
OVERFLOW = re.compile(r"ring (?P<ring>\S+), user_data (?P<user_data>\S+), ")
TO_SUBMIT = re.compile(r"to_submit: (0x\w+)")
CQE_MORE = 2
NO_REQUEST = ("(nil)", "0x0", "0000000000000000")
MULTISHOT_OPCODES = ("POLL_ADD", "RECV", "ACCEPT", "TIMEOUT", "READ_MULTISHOT")
SAMPLED = ("io_uring_submit_req", "io_uring_complete", "sched_waking", "workqueue_queue_work",
           "workqueue_execute_start", "block_rq_issue", "block_rq_complete")


class Tracer:
    def __init__(self, graph, marks, pid, best):
        self.graph, self.best = graph, best
        self.spans = Spans(graph)
        self.family = perf_script.Family(pid)
        self.schedule = perf_script.Schedule()
        self._marks = collections.deque(marks)
        self._requests = {}  # req pointer -> newest or live io_request
        self._by_user_data = collections.defaultdict(list)  # (ring, user_data) -> them, newest last
        self._wakings = {}  # tid -> newest waking
        self._off_since = {}  # tid -> (when it was switched out, whether it blocked)
        self._inherited = {}  # tid -> (request life, since)
        self._enters = {}  # tid -> times of the last two enters
        self._losses = {}  # cpu -> [first, last, count]
        self._seen_ns = {}  # cpu -> time of its last event
        self.operations = collections.defaultdict(list)
        self.kernel_work = KernelWork(graph, best, self.owner_of, self.operations)
        self.work = collections.defaultdict(list)
        self.last_ns = 0

    def owner_of(self, tid):
        entered = self.spans.owner_of(tid)
        if entered is not None or self.best:
            return entered
        return self._inherited.get(tid, (None, 0))[0]

    def see(self, event, is_interrupt):
        while self._marks and self._marks[0].time_ns <= event.time_ns:
            self.spans.replay(self._marks.popleft())
        self.last_ns = event.time_ns
        if event.name != "lost":
            self._seen_ns[event.cpu] = event.time_ns
        child = self.family.see(event)
        if child is not None:
            self._spawn(event, child)
        handler = getattr(self, "_on_" + event.name, None)
        if handler is not None:
            handler(event, is_interrupt)
        elif event.tid in self.family.tids or event.comm.startswith("kworker") or is_interrupt or \
                event.name == "block_rq_complete":
            self.kernel_work.see(event, self.family)

    def _on_lost(self, event, _):
        from_ns = self._seen_ns.get(event.cpu, event.time_ns)
        loss = self._losses.setdefault(event.cpu, [from_ns, event.time_ns, 0])
        loss[1] = event.time_ns
        loss[2] += int(event.text)

    def _spawn(self, event, child):
        parent = self.graph.thread(event.tid, event.time_ns, event.comm)
        thread = self.graph.thread(child, event.time_ns, event.comm)
        self.graph.edge("spawn", parent, thread, event.time_ns, event.time_ns, event.event,
                        event.event, parent, thread)

    # -- io_uring

    def _on_sys_enter_io_uring_enter(self, event, _):
        if int(TO_SUBMIT.search(event.text).group(1), 16) == 0:
            return  # what lies in the ring stays there
        self._enters[event.tid] = (self._enters.get(event.tid, (0, 0))[1], event.time_ns)

    def _on_io_uring_submit_req(self, event, _):
        if event.tid not in self.family.tids:
            return
        fields = IO_FIELDS.match(event.text).groupdict()
        opcode = fields["opcode"]
        node = self.graph.node("io_request", event.time_ns, opcode or "", opcode=opcode,
                               user_data=fields["user_data"])
        owner = self.owner_of(event.tid)
        if self.best and not self._is_stable(event.tid):
            owner = None
        key = (fields["ring"], fields["user_data"])
        request = {"node": node, "event": event, "owner": owner, "opcode": opcode, "key": key,
                   "req": fields["req"]}
        self._retire(self._requests.get(fields["req"]))
        self._requests[fields["req"]] = request
        self._by_user_data[key].append(request)
        thread = self.graph.thread(event.tid, event.time_ns, event.comm)
        self.graph.edge("submit", thread, node, event.time_ns, event.time_ns, event.event,
                        event.event, thread, thread)

    _on_io_uring_req_failed = _on_io_uring_submit_req

    def _is_stable(self, tid):
        """Did the thread work for the same one ever since its enter before this one?"""
        return self.spans.changed_ns.get(tid, 0) <= self._enters.get(tid, (0, 0))[0]

    def _retire(self, request):
        if request is not None and self.best:
            self._requests.pop(request["req"], None)
            if request in self._by_user_data[request["key"]]:
                self._by_user_data[request["key"]].remove(request)

    def _on_io_uring_complete(self, event, _):
        if event.tid not in self.family.tids:
            return
        fields = IO_FIELDS.match(event.text).groupdict()
        rule, reason = None, "unexplained"
        if fields["req"] in NO_REQUEST:
            candidates = self._by_user_data[(fields["ring"], fields["user_data"])]
            if self.best:
                candidates = [request for request in candidates
                              if request["opcode"] in MULTISHOT_OPCODES]
            request = candidates[-1] if candidates else None
            if self.best and len(candidates) != 1:
                request, reason = None, "ambiguous"
            rule = "user_data"
        else:
            request = self._requests.get(fields["req"])
        self._complete(event, request, rule, reason)
        is_last = not int(fields["cflags"], 16) & CQE_MORE
        if request is not None and rule is None and is_last:
            self._end(request, event.time_ns)

    def _complete(self, event, request, rule, reason):
        thread = self.graph.thread(event.tid, event.time_ns, event.comm)
        if request is None:
            if self.best:
                self.graph.orphan("complete", "take_up", None, event.event, thread, event.time_ns,
                                  reason)
            return
        confidence = "reconstructed" if rule and self.best else "observed"
        self.graph.edge("complete", request["node"], thread, request["event"].time_ns,
                        event.time_ns, request["event"].event, event.event, None, thread,
                        confidence=confidence, rule=rule)

    def _end(self, request, time_ns):
        submitted_ns = request["event"].time_ns
        if "ended" not in request:
            request["ended"] = True
            self.graph.died(request["node"], time_ns)
            if request["owner"] is not None:
                self.graph.owner(request["node"], request["owner"].node, submitted_ns, time_ns)
                self.operations[request["owner"]].append((submitted_ns, time_ns))
        self._retire(request)

    def _on_io_uring_cqe_overflow(self, event, _):
        fields = OVERFLOW.match(event.text).groupdict()
        candidates = self._by_user_data[(fields["ring"], fields["user_data"])]
        if self.best and len(candidates) != 1:
            self._complete(event, None, "user_data", "ambiguous")
        elif candidates:
            self._complete(event, candidates[-1], "user_data", "")

    # -- threads

    def _on_sched_waking(self, event, is_interrupt):
        wakee = int(perf_script.WAKING.match(event.text).group(1))
        if wakee in self.family.tids:
            self.schedule.waking(event.time_ns, wakee)
            self._wakings[wakee] = (event, is_interrupt, self.owner_of(event.tid))

    def _on_sched_switch(self, event, _):
        prev, blocked, following = self.schedule.switch(event.time_ns, event.text)
        if prev in self.family.tids:
            self._off_since[prev] = (event.time_ns, blocked)
            if blocked:
                self._drop_inherited(prev, event.time_ns)
        if following in self.family.tids:
            self._wake(event, following)

    def _wake(self, event, wakee):
        waking = self._wakings.pop(wakee, None)
        off = self._off_since.pop(wakee, None)
        if waking is None or (self.best and (off is None or not off[1])):
            return
        cause, is_interrupt, owner = waking
        thread = self.graph.thread(wakee, event.time_ns)
        source = waker = None
        if self.best and is_interrupt:
            source = self.graph.node("interrupt", cause.time_ns, f"cpu{cause.cpu}")
        elif self.best and cause.tid == wakee:
            return
        else:
            source = waker = self.graph.thread(cause.tid, cause.time_ns, cause.comm)
        self.graph.edge("wake", source, thread, cause.time_ns, event.time_ns, cause.event,
                        event.event, waker, thread)
        if not self.best and owner is not None and self.spans.owner_of(wakee) is None:
            self._drop_inherited(wakee, event.time_ns)
            self._inherited[wakee] = (owner, event.time_ns)

    def _drop_inherited(self, tid, time_ns):
        owner, since_ns = self._inherited.pop(tid, (None, 0))
        if owner is not None and time_ns > since_ns:
            self.graph.binding(self.graph.thread(tid, since_ns), owner.node, since_ns, time_ns,
                               "inferred")
            self.work[owner].append((tid, since_ns, time_ns))

    def finish(self):
        for mark in self._marks:
            self.spans.replay(mark)
        for tid in list(self._inherited):
            self._drop_inherited(tid, self.last_ns)
        self.schedule.finish(self.last_ns)
        self.spans.finish()
        for cpu, (from_ns, to_ns, count) in self._losses.items():
            self.graph.loss(f"cpu{cpu}", from_ns, to_ns, count)
        for tid, life, from_ns, to_ns in self.spans.bindings:
            if life.owner is not None:
                self.work[life.owner].append((tid, from_ns, to_ns))
        schedule = {tid: self.schedule.intervals[tid] for tid in self.family.tids}
        write_requests(self.graph, self.spans.requests(), self.work, schedule, self.operations,
                       "unknown" if self.best else "blocked")


def convert(text, spans, pid, best, keep, seed):
    graph = GraphText()
    chance = random.Random(seed)
    marks = [mark for mark in read_marks(spans)
             if keep >= 1 or mark.verb != "edge" or chance.random() < keep]
    tracer = Tracer(graph, marks, pid, best)
    for event, is_interrupt in perf_script.merge_interrupt_twins(perf_script.read_events(text)):
        if keep >= 1 or event.name not in SAMPLED or chance.random() < keep:
            tracer.see(event, is_interrupt)
    tracer.finish()
    return graph


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--spans", default="/dev/null")
    parser.add_argument("--join", choices=("newest", "best"), default="newest")
    parser.add_argument("--keep", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("text")
    options = parser.parse_args()
    with open(options.spans, encoding="utf-8", errors="replace") as spans, \
            open(options.text, encoding="utf-8", errors="replace") as text:
        convert(text, spans, options.pid, options.join == "best", options.keep,
                options.seed).write(sys.stdout)


if __name__ == "__main__":
    main()
