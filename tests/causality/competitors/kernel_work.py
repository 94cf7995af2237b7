# Joins kernel work items and block requests of a full trace, by their raw keys.
import re

QUEUE = re.compile(r"work struct=(\S+) function=(\S+)")
EXECUTE = re.compile(r"work struct (\S+?)(?::|$)")
BLOCK = re.compile(r"(\d+,\d+) (\S+) .*?(\d+) \+ (\d+)")


class KernelWork:
    def __init__(self, graph, best):
        self._graph, self._best = graph, best
        self._queued = {}  # work_struct -> (event, node)
        self._issued = {}  # (device, sector, sectors) -> (event, node)

    def see(self, event, family):
        if event.name == "workqueue_queue_work" and event.tid in family.tids:
            work, function = QUEUE.match(event.text).groups()
            node = self._graph.node("work_item", event.time_ns, function, function=function)
            self._queued[work] = (event, node)
        elif event.name == "workqueue_execute_start":
            self._take_up(event, self._queued, EXECUTE.match(event.text).group(1), "queue")
        elif event.name == "block_rq_issue" and event.tid in family.tids:
            device, _, sector, sectors = BLOCK.match(event.text).groups()
            node = self._graph.node("block_request", event.time_ns, device)
            self._issued[(device, sector, sectors)] = (event, node)
        elif event.name == "block_rq_complete":
            device, _, sector, sectors = BLOCK.match(event.text).groups()
            self._take_up(event, self._issued, (device, sector, sectors), "complete")

    def _take_up(self, event, live, key, kind):
        cause, node = (live.pop if self._best else live.get)(key, (None, None))
        if cause is None:
            return
        graph = self._graph
        source = graph.thread(cause.tid, cause.time_ns, cause.comm)
        graph.edge("queue" if kind == "queue" else "submit", source, node, cause.time_ns,
                   event.time_ns if kind == "queue" else cause.time_ns, cause.event,
                   event.event if kind == "queue" else cause.event, source,
                   graph.thread(event.tid, event.time_ns, event.comm) if kind == "queue" else source)
        if kind == "complete":
            # It ends in an interrupt, whoever runs there just then.
            graph.edge("complete", node, graph.node("interrupt", event.time_ns, f"cpu{event.cpu}"),
                       cause.time_ns, event.time_ns, cause.event, event.event)
        graph.died(node, event.time_ns)
