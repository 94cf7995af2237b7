# Joins kernel work items and block requests of a full trace, by their raw keys.
import re

QUEUE = re.compile(r"work struct=(\S+) function=(\S+)")
EXECUTE = re.compile(r"work struct (\S+?)(?::|$)")
BLOCK = re.compile(r"(\d+,\d+) \S+ .*?(\d+) \+ (\d+)")


class KernelWork:
    """best: what was taken up once is gone; else the newest record of that key wins, again and
    again."""

    def __init__(self, graph, best, owner_of, operations):
        """owner_of: whom a thread works for; operations: gets [from, to] of each owner's reads and
        writes."""
        self._graph, self._best = graph, best
        self._owner_of, self._operations = owner_of, operations
        self._queued = {}  # work_struct -> (event, node, owner)
        self._issued = {}  # (device, sector, sectors) -> the same

    def see(self, event, family):
        graph = self._graph
        if event.name == "workqueue_queue_work" and event.tid in family.tids:
            work, function = QUEUE.match(event.text).groups()
            node = graph.node("work_item", event.time_ns, function, function=function)
            self._hand_out("queue", self._queued, work, event, node)
        elif event.name == "workqueue_execute_start":
            worker = graph.thread(event.tid, event.time_ns, event.comm)
            self._take_up("queue", self._queued, EXECUTE.match(event.text).group(1), event, worker,
                          worker)
        elif event.name == "block_rq_issue" and event.tid in family.tids:
            key = BLOCK.match(event.text).groups()
            node = graph.node("block_request", event.time_ns, key[0])
            self._hand_out("submit", self._issued, key, event, node)
        elif event.name == "block_rq_complete":
            key = BLOCK.match(event.text).groups()
            if key in self._issued:
                # It ends in an interrupt, whoever runs there just then.
                interrupt = graph.node("interrupt", event.time_ns, f"cpu{event.cpu}")
                self._take_up("complete", self._issued, key, event, interrupt, None)

    def _hand_out(self, kind, live, key, event, node):
        live[key] = (event, node, self._owner_of(event.tid))
        thread = self._graph.thread(event.tid, event.time_ns, event.comm)
        self._graph.edge(kind, thread, node, event.time_ns, event.time_ns, event.event,
                         event.event, thread, thread)

    def _take_up(self, kind, live, key, event, taker, thread):
        cause, node, owner = (live.pop if self._best else live.get)(key, (None, None, None))
        if cause is None:
            return
        if kind == "complete" and owner is not None:
            self._operations[owner].append((cause.time_ns, event.time_ns))
            self._graph.owner(node, owner.node, cause.time_ns, event.time_ns)
        giver = self._graph.thread(cause.tid, cause.time_ns, cause.comm)
        self._graph.edge(kind, node, taker, cause.time_ns, event.time_ns, cause.event, event.event,
                         giver, thread)
        self._graph.died(node, event.time_ns)
