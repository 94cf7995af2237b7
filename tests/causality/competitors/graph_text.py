# Writes the graph text of cprof-causality(7), the only thing that the scorer reads of a profiler.
import json


class GraphText:
    """Collects lines about times in CLOCK_MONOTONIC ns; write() makes them relative."""

    def __init__(self):
        self._nodes = {}  # id -> line
        self._threads = {}  # tid -> id
        self._lines = []
        self._edge_count = self._orphan_count = self._break_count = 0
        self._first_ns = None

    def _see(self, time_ns):
        if self._first_ns is None or time_ns < self._first_ns:
            self._first_ns = time_ns
        return time_ns

    def node(self, kind, born_ns, label, **attrs):
        node = len(self._nodes) + 1
        self._nodes[node] = {
            "t": "node", "id": node, "kind": kind, "scope": "boot", "key": str(node), "gen": 1,
            "label": label, "born_ns": self._see(born_ns), "died_ns": None, "end": None,
            "attrs": attrs}
        return node

    def died(self, node, time_ns):
        self._nodes[node]["died_ns"] = self._see(time_ns)
        self._nodes[node]["end"] = "observed"

    def thread(self, tid, time_ns, comm=""):
        """The node of this tid; made when it is first asked for."""
        if tid not in self._threads:
            self._threads[tid] = self.node("thread", time_ns, f"{comm}/{tid}", tid=tid, comm=comm)
        return self._threads[tid]

    def edge(self, kind, src, dst, src_time_ns, dst_time_ns, src_event, dst_event,
             src_thread=None, dst_thread=None, source="kernel", confidence="observed", rule=None):
        self._edge_count += 1
        self._lines.append({
            "t": "edge", "id": self._edge_count, "type": kind, "src": src, "dst": dst,
            "src_time_ns": self._see(src_time_ns), "dst_time_ns": self._see(dst_time_ns),
            "src_event": src_event, "dst_event": dst_event, "src_thread": src_thread,
            "dst_thread": dst_thread, "source": source, "confidence": confidence, "rule": rule,
            "breaks": []})

    def orphan(self, kind, half, node, event, thread, time_ns, reason, proof=""):
        self._orphan_count += 1
        self._lines.append({
            "t": "orphan", "id": self._orphan_count, "type": kind, "half": half, "node": node,
            "event": event, "thread": thread, "time_ns": self._see(time_ns), "reason": reason,
            "proof": proof})

    def loss(self, stream, from_ns, to_ns, count):
        """Events were lost, nobody knows which."""
        self._break_count += 1
        self._lines.append({
            "t": "break", "id": self._break_count, "stream": stream,
            "from_ns": self._see(from_ns), "to_ns": self._see(to_ns), "lost": {"any": count},
            "signature": "0xffffffffffffffff", "reason": "ring_full"})

    def binding(self, thread, node, from_ns, to_ns, source="application", confidence="observed"):
        self._lines.append({
            "t": "binding", "thread": thread, "node": node, "from_ns": self._see(from_ns),
            "to_ns": self._see(to_ns), "source": source, "confidence": confidence})

    def owner(self, node, request, from_ns, to_ns, source="application", confidence="observed"):
        self._lines.append({
            "t": "owner", "node": node, "requests": [request], "from_ns": self._see(from_ns),
            "to_ns": self._see(to_ns), "source": source, "confidence": confidence, "rule": None})

    def state(self, request, state, from_ns, to_ns):
        self._lines.append({
            "t": "state", "request": request, "state": state, "from_ns": self._see(from_ns),
            "to_ns": self._see(to_ns), "edge": None})

    def cost(self, request, kind, value, low, high):
        self._lines.append({
            "t": "cost", "request": request, "kind": kind, "value": int(value), "low": int(low),
            "high": int(high)})

    def sample(self, node, thread, time_ns, weight_ns):
        self._lines.append({
            "t": "sample", "node": node, "thread": thread, "time_ns": self._see(time_ns),
            "stack": None, "weight_ns": weight_ns, "p": 1.0, "stratum": "cpu"})

    def write(self, out):
        t0_ns = self._first_ns or 0
        print(json.dumps({"t": "header", "version": 1, "t0_ns": str(t0_ns), "hooks": [],
                          "filters": [], "budget": {}}), file=out)
        for line in [*self._nodes.values(), *self._lines]:
            for name in line:
                # A weight is a length, the other times are instants.
                if name.endswith("_ns") and name != "weight_ns" and line[name] is not None:
                    line[name] -= t0_ns
            print(json.dumps(line, separators=(",", ":")), file=out)
        joined = 2 * self._edge_count
        print(json.dumps({
            "t": "summary", "half_edges": joined + self._orphan_count, "joined": joined,
            "orphans": self._orphan_count, "edges": self._edge_count,
            "breaks": self._break_count}), file=out)
