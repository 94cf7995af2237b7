# Reads an application's own span log: the marks that it makes with cprof.h, one line each, as
# `cprof script` prints them. This is all that a program can tell of itself.
import collections
import re

LINE = re.compile(r"(\d+)\.(\d{9}) (\S+)\.(\d+) (\d+)/(\d+)@\d+ \S+ app:(\w+) (.*)")
FIELD = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')

# Streams of marks are numbered from here on, apart from the CPUs.
FIRST_STREAM = 1000

# One mark. event: "stream.sequence". verb: begin, end, enter, leave, edge. node, to: (process,
# kind, domain, id).
Mark = collections.namedtuple("Mark", "time_ns event tid verb node to name edge")


def read_marks(lines):
    """Marks in order of time; lines that are none are passed over."""
    marks = []
    streams = {}
    for line in lines:
        found = LINE.match(line)
        if found is None:
            continue
        seconds, nanoseconds, stream, sequence, tid, tgid, verb, rest = found.groups()
        number = streams.setdefault(stream, FIRST_STREAM + len(streams))
        fields = {name: text or word for name, text, word in FIELD.findall(rest)}
        domain = fields.get("domain", "")
        to = None
        if verb == "edge":
            node = (tgid, fields["from_kind"], domain, fields["from"])
            to = (tgid, fields["to_kind"], fields.get("domain2", domain), fields["to"])
        elif verb in ("begin", "end", "enter", "leave"):
            node = (tgid, fields["kind"], domain, fields["id"])
        else:
            continue
        marks.append(Mark(int(seconds) * 1000000000 + int(nanoseconds), f"{number}.{sequence}",
                          int(tid), verb, node, to, fields.get("name", domain),
                          fields.get("edge")))
    marks.sort(key=lambda mark: mark.time_ns)
    return marks


class Life:
    """A request or a task from its begin to its end; the next use of its id is another one."""

    def __init__(self, node, kind, tid, begin_ns):
        self.node, self.kind, self.tid = node, kind, tid
        self.begin_ns, self.end_ns = begin_ns, None
        self.owner = self if kind == "request" else None


class Spans:
    """Replays marks one by one into a graph, and knows what each thread has entered."""

    def __init__(self, graph):
        self.graph = graph
        self.lives = []
        self.bindings = []  # (tid, life, from_ns, to_ns)
        self.entered = collections.defaultdict(list)  # tid -> [(life, from_ns)], innermost last
        self.changed_ns = {}  # tid -> when it last entered or left
        self._live = {}
        self._last_ns = 0

    def requests(self):
        return [life for life in self.lives if life.kind == "request" and life.end_ns]

    def replay(self, mark):
        self._last_ns = mark.time_ns
        life = self._live.get(mark.node)
        if mark.verb == "begin":
            kind = {"request": "request", "task": "runtime_task"}.get(mark.node[1], mark.node[1])
            node = self.graph.node(kind, mark.time_ns, mark.name, id=mark.node[3], name=mark.name)
            self._live[mark.node] = life = Life(node, kind, mark.tid, mark.time_ns)
            self.lives.append(life)
        elif life is None:
            return
        elif mark.verb == "end":
            life.end_ns = mark.time_ns
            self.graph.died(life.node, mark.time_ns)
            del self._live[mark.node]
        elif mark.verb == "enter":
            self.entered[mark.tid].append((life, mark.time_ns))
            self.changed_ns[mark.tid] = mark.time_ns
        elif mark.verb == "leave":
            self._leave(mark, life)
        elif mark.to in self._live:
            self._edge(mark, life, self._live[mark.to])

    def _leave(self, mark, life):
        stack = self.entered[mark.tid]
        for i in reversed(range(len(stack))):
            if stack[i][0] is life:
                self.bindings.append((mark.tid, life, stack[i][1], mark.time_ns))
                del stack[i]
                break
        self.changed_ns[mark.tid] = mark.time_ns

    def _edge(self, mark, source, target):
        thread = self.graph.thread(mark.tid, mark.time_ns)
        self.graph.edge(mark.edge, source.node, target.node, mark.time_ns, mark.time_ns,
                        mark.event, mark.event, thread, thread, "application")
        if mark.edge in ("queue", "spawn", "submit") and target.owner is None:
            target.owner = source.owner

    def owner_of(self, tid):
        """The request that the thread says it works for; None where it says nothing."""
        stack = self.entered[tid]
        return stack[-1][0].owner if stack else None

    def finish(self):
        """Closes what is open, and writes whose each thread and task was."""
        for tid, stack in self.entered.items():
            self.bindings += [(tid, life, from_ns, self._last_ns) for life, from_ns in stack]
        for tid, life, from_ns, to_ns in self.bindings:
            self.graph.binding(self.graph.thread(tid, from_ns), life.node, from_ns, to_ns)
        for life in self.lives:
            if life.kind != "request" and life.owner is not None:
                self.graph.owner(life.node, life.owner.node, life.begin_ns,
                                 life.end_ns or self._last_ns)
