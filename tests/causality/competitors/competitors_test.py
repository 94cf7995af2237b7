#!/usr/bin/env python3
# Tests the converters of competing tools on small outputs of the tools themselves (captured/), and
# on lines in the same form where a case is rare.
import io
import json
import pathlib
import unittest

import app_trace
import full_trace
import perf_script
import thread_profile
import wall
from graph_text import GraphText

CAPTURED = pathlib.Path(__file__).parent / "captured"
FUTEX_PID = 22521
IO_URING_PID = 23294
PRODUCER = 22629


def lines(name):
    return (CAPTURED / name).read_text(encoding="utf-8").splitlines()


def read(graph):
    out = io.StringIO()
    graph.write(out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def of_kind(graph, line_kind, **fields):
    return [line for line in graph if line["t"] == line_kind and
            all(line.get(name) == value for name, value in fields.items())]


def trace(name, pid, join, keep=1, spans=True, text=None):
    marks = lines(name + ".spans.txt") if spans else []
    text = lines(name + ".trace.txt") if text is None else text
    return read(full_trace.convert(text, marks, pid, join == "best", keep, 1))


def io_line(tid, time_us, text):
    return f"  worker {tid}/{tid} [000] 100.{time_us:06d}000:  1  io_uring:io_uring_{text}"


def submit(time_us, req, opcode="NOP", user_data="0x7"):
    return io_line(9, time_us, f"submit_req: ring 0xa, req {req}, user_data {user_data}, "
                               f"opcode {opcode}, flags 0x0, sq_thread 0")


def complete(time_us, req, cflags="0x0", user_data="0x7"):
    return io_line(9, time_us, f"complete: ring 0xa, req {req}, user_data {user_data}, "
                               f"result 1, cflags {cflags} extra1 0 extra2 0")


class AppTrace(unittest.TestCase):
    def test_ReusedHandlesAreOtherNodes(self):
        graph = read(app_trace.convert(lines("futex.spans.txt")))
        self.assertEqual(len(of_kind(graph, "node", kind="request")), 2)
        self.assertEqual(len(of_kind(graph, "node", kind="runtime_task")), 5)
        self.assertEqual(len(of_kind(graph, "edge", type="queue")), 5)
        self.assertEqual(len(of_kind(graph, "binding")), 7)

    def test_StatesAddUpToTheWall(self):
        graph = read(app_trace.convert(lines("futex.spans.txt")))
        for node in of_kind(graph, "node", kind="request"):
            states = of_kind(graph, "state", request=node["id"])
            wall_ns = node["died_ns"] - node["born_ns"]
            self.assertEqual(sum(line["to_ns"] - line["from_ns"] for line in states), wall_ns)


class FullTrace(unittest.TestCase):
    def test_EverySubmitAndCompletionIsJoined(self):
        text = "\n".join(lines("io_uring.trace.txt"))
        for join in ("newest", "best"):
            graph = trace("io_uring", IO_URING_PID, join)
            operations = {node["id"] for node in of_kind(graph, "node", kind="io_request")}
            submits = [edge for edge in of_kind(graph, "edge", type="submit")
                       if edge["dst"] in operations]
            completes = [edge for edge in of_kind(graph, "edge", type="complete")
                         if edge["src"] in operations]
            self.assertEqual(len(submits), text.count("io_uring_submit_req"))
            self.assertEqual(len(completes), text.count("io_uring_complete:"))
            self.assertEqual(len({edge["src"] for edge in completes}), len(completes))

    def test_OnlyNewestLetsAWakerOwnTheWakee(self):
        newest = of_kind(trace("futex", FUTEX_PID, "newest"), "binding", source="inferred")
        best = of_kind(trace("futex", FUTEX_PID, "best"), "binding", source="inferred")
        self.assertGreater(len(newest), 0)
        self.assertEqual(best, [])

    def test_BothTakeTheSpanLogAsItIs(self):
        for join in ("newest", "best"):
            spans = of_kind(trace("futex", FUTEX_PID, join), "binding", source="application")
            self.assertEqual(len(spans), 7)

    def test_NewestJoinsACompletionWhosePointerIsDead(self):
        text = [submit(1, "0x1"), complete(2, "0x1"), complete(3, "0x1")]
        newest = trace("", 9, "newest", spans=False, text=text)
        best = trace("", 9, "best", spans=False, text=text)
        self.assertEqual(len(of_kind(newest, "edge", type="complete")), 2)
        self.assertEqual(len(of_kind(best, "edge", type="complete")), 1)
        self.assertEqual(len(of_kind(best, "orphan", reason="unexplained")), 1)

    def test_BestDoesNotChooseBetweenTwoMultishots(self):
        text = [submit(1, "0x1", "POLL_ADD"), submit(2, "0x2", "POLL_ADD"),
                complete(3, "0000000000000000", "0x2")]
        newest = trace("", 9, "newest", spans=False, text=text)
        best = trace("", 9, "best", spans=False, text=text)
        self.assertEqual(len(of_kind(newest, "edge", type="complete")), 1)
        self.assertEqual(of_kind(best, "edge", type="complete"), [])
        self.assertEqual(len(of_kind(best, "orphan", reason="ambiguous")), 1)

    def test_BestTakesTheOneMultishotThereIs(self):
        text = [submit(1, "0x1", "POLL_ADD"), complete(3, "0000000000000000", "0x2")]
        best = of_kind(trace("", 9, "best", spans=False, text=text), "edge", type="complete")
        self.assertEqual([edge["confidence"] for edge in best], ["reconstructed"])

    def test_ACompletionOfNothingKnownJoinsNothing(self):
        text = [complete(3, "0000000000000000", "0x2"), complete(4, "0x5")]
        for join, orphans in (("newest", 0), ("best", 2)):
            graph = trace("", 9, join, spans=False, text=text)
            self.assertEqual(of_kind(graph, "edge", type="complete"), [])
            self.assertEqual(len(of_kind(graph, "orphan")), orphans)

    def test_SamplingKeepsThePlacesOfEvents(self):
        whole = {edge["src_event"] for edge in
                 of_kind(trace("io_uring", IO_URING_PID, "newest"), "edge", type="submit")}
        part = {edge["src_event"] for edge in
                of_kind(trace("io_uring", IO_URING_PID, "newest", keep=0.5), "edge",
                        type="submit")}
        self.assertTrue(part < whole)
        self.assertGreater(len(part), 0)

    def test_LostEventsBecomeABreak(self):
        text = [submit(1, "0x1"), "  worker 9/9 [001] 100.000005000:  PERF_RECORD_LOST lost 12"]
        breaks = of_kind(trace("", 9, "best", spans=False, text=text), "break")
        self.assertEqual([line["lost"]["any"] for line in breaks], [12])


class Wakes(unittest.TestCase):
    WAKING = ("  {} [000] 100.{:06d}000:  1  sched:sched_waking: comm=x pid=9 prio=120 "
              "target_cpu=000")
    SWITCH = ("  x 9/9 [000] 100.{:06d}000:  1  sched:sched_switch: prev_comm=a prev_pid={} "
              "prev_prio=120 prev_state={} ==> next_comm=b next_pid={} next_prio=120")

    def wakes(self, join, text):
        return of_kind(trace("", 9, join, spans=False, text=text), "edge", type="wake")

    def test_TwinOfAnInterruptIsOneWakeOfNoThread(self):
        text = [self.SWITCH.format(1, 9, "S", 5), self.WAKING.format("idle 5/5", 2),
                self.WAKING.format("idle 5/5", 2), self.SWITCH.format(3, 5, "R", 9)]
        best, newest = self.wakes("best", text), self.wakes("newest", text)
        self.assertEqual([edge["src_thread"] for edge in best], [None])
        self.assertEqual(len(newest), 1)
        self.assertIsNotNone(newest[0]["src_thread"])

    def test_BestAsksForABlock(self):
        text = [self.SWITCH.format(1, 9, "R", 5), self.WAKING.format("other 5/5", 2),
                self.SWITCH.format(3, 5, "R", 9)]
        self.assertEqual(self.wakes("best", text), [])
        self.assertEqual(len(self.wakes("newest", text)), 1)

    def test_NamesMayHaveSpaces(self):
        events = list(perf_script.read_events([self.WAKING.format("Web Content 5/6", 2)]))
        self.assertEqual([(event.comm, event.pid, event.tid) for event in events],
                         [("Web Content", 5, 6)])


class ThreadProfile(unittest.TestCase):
    def profile(self, convert, text, with_spans):
        graph = GraphText()
        affinity = thread_profile.Affinity(graph, lines("futex.spans.txt")) if with_spans else None
        convert(graph, perf_script.read_events(lines(text)), affinity, FUTEX_PID)
        return read(graph)

    def test_WithoutSpansNoRequestIsNamed(self):
        for convert, text in ((thread_profile.convert_cpu, "futex.cpu.txt"),
                              (thread_profile.convert_off_cpu, "futex.trace.txt")):
            graph = self.profile(convert, text, False)
            self.assertGreater(len(of_kind(graph, "node", kind="thread")), 0)
            self.assertEqual(of_kind(graph, "node", kind="request"), [])
            self.assertEqual(of_kind(graph, "binding"), [])

    def test_WithSpansTheThreadOfTheBeginOwnsItAll(self):
        graph = self.profile(thread_profile.convert_cpu, "futex.cpu.txt", True)
        nodes = {node["id"]: node for node in of_kind(graph, "node")}
        bindings = of_kind(graph, "binding")
        self.assertEqual(len(bindings), 2)
        for binding in bindings:
            self.assertEqual(nodes[binding["thread"]]["attrs"]["tid"], PRODUCER)
            self.assertEqual(binding["from_ns"], nodes[binding["node"]]["born_ns"])
        costs = of_kind(graph, "cost")
        self.assertEqual(len(costs), 2)
        for cost in costs:
            self.assertLessEqual(cost["low"], cost["value"])
            self.assertLess(cost["value"], cost["high"])

    def test_OffCpuStatesAddUpToTheWall(self):
        graph = self.profile(thread_profile.convert_off_cpu, "futex.trace.txt", True)
        for node in of_kind(graph, "node", kind="request"):
            states = of_kind(graph, "state", request=node["id"])
            self.assertEqual(sum(line["to_ns"] - line["from_ns"] for line in states),
                             node["died_ns"] - node["born_ns"])
            self.assertIn("blocked", {line["state"] for line in states})


class Partition(unittest.TestCase):
    def test_FirstOfThePrecedenceCounts(self):
        pieces = [(0, 10, "io"), (2, 4, "running"), (3, 6, "runnable"), (8, 30, "blocked")]
        self.assertEqual(wall.partition(1, 20, pieces, "unknown"),
                         [(1, 2, "io"), (2, 4, "running"), (4, 6, "runnable"), (6, 10, "io"),
                          (10, 20, "blocked")])

    def test_HolesAreTheRest(self):
        self.assertEqual(wall.partition(0, 9, [(3, 5, "io")], "unknown"),
                         [(0, 3, "unknown"), (3, 5, "io"), (5, 9, "unknown")])


if __name__ == "__main__":
    unittest.main()
