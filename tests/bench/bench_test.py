#!/usr/bin/env python3
# Tests of the benchmark's arithmetic, tables and JSON, on figures that are made up.
import json
import pathlib
import struct
import tempfile
import unittest

import overhead
import processes
import results

OPERATIONS = 1000


def row(cpu_ns, wall_ns, events=0, lost=0, size=0):
    return {"cpu_ns": cpu_ns, "wall_ns": wall_ns, "events": events, "lost": lost, "bytes": size}


def measured():
    rows = {"nothing": [row(100.0, 200.0)] * 3,
            "cprof": [row(130.0, 250.0, 2000, 0, 4000), row(900.0, 900.0, 2000, 7, 4000),
                      row(130.0, 250.0, 2000, 0, 4000)],
            "perf": [row(400.0, 700.0, 1900, 100, 200000)] * 3}
    return {"operations": OPERATIONS, "rounds": 3, "rows": rows,
            "summary": overhead.summarise(rows, OPERATIONS)}


def whole():
    machine = {"cpu": "Some CPU", "cpus": 2, "memory_bytes": 2**34, "kernel": "6.1.0",
               "perf": "6.1", "load_before": 0.25}
    scale = [{"workload": "server", "command": "diff", "million": 10, "file_bytes": 5e6,
              "cpu_s": 2.5, "wall_s": 1.5, "million_per_s": 4.0, "peak_bytes": 2**25}]
    return {"machine": machine, "quick": False, "overhead": {"nop": measured()}, "scale": scale}


class Summary(unittest.TestCase):
    def test_RatiosAreOfMediansSoThatOneBadRoundDoesNotCount(self):
        cost = measured()["summary"]["cprof"]
        self.assertEqual((cost["slow_down_cpu"], cost["slow_down_wall"]), (1.3, 1.25))
        self.assertEqual((cost["of_perf_cpu"], cost["of_perf_wall"]), (0.1, 0.1))
        self.assertEqual(cost["bytes_per_event"], 2)

    def test_LostEventsCostTimeTooAndEachRoundsAreTold(self):
        summary = measured()["summary"]
        # 300 ns an operation, two events an operation, of which some were lost.
        self.assertEqual(summary["perf"]["added_cpu_ns_per_event"], 150)
        self.assertEqual(summary["perf"]["lost"], 300)
        self.assertEqual(summary["cprof"]["lost"], 7)

    def test_WithoutPerfNothingIsComparedWithIt(self):
        summary = overhead.summarise({"nothing": [row(1.0, 1.0)], "cprof": [row(2.0, 2.0)]}, 1)
        self.assertEqual(summary["cprof"]["of_perf_cpu"], 0)
        self.assertEqual(summary["cprof"]["added_cpu_ns_per_event"], 0)


class Tables(unittest.TestCase):
    def test_EveryRowHasAllColumns(self):
        for text in (results.overhead_table({"nop": measured()}),
                     results.scale_table(whole()["scale"])):
            lines = text.splitlines()
            self.assertEqual({line.count("|") for line in lines}, {lines[0].count("|")})
            self.assertEqual({len(line) for line in lines}, {len(lines[0])})

    def test_LossIsToldAsCountAndShare(self):
        text = results.overhead_table({"nop": measured()})
        self.assertIn("300 (5.00%)", text)

    def test_PageNamesMachineAndKernelAndBothTables(self):
        page = results.document(whole())
        for words in ("Some CPU, 2 CPUs, 16 GiB", "Linux 6.1.0", "## Recording", "## Reading",
                      "nop 3 of 1000", "server, diff"):
            self.assertIn(words, page)
        self.assertNotIn("quick", page)

    def test_PartsThatWereNotMeasuredAreNotThere(self):
        self.assertNotIn("## Reading", results.document({**whole(), "scale": []}))

    def test_JsonHoldsEveryRound(self):
        back = json.loads(json.dumps(whole()))
        self.assertEqual(len(back["overhead"]["nop"]["rows"]["cprof"]), 3)


class Processes(unittest.TestCase):
    def test_PeakIsThatOfTheProgramNotOfWhoRunsIt(self):
        held = bytearray(b"x") * 2**27
        _, _, peak_kib = processes.run(["true"])
        self.assertLess(peak_kib * 1024, len(held) / 2)

    def test_FailureEndsTheBenchmark(self):
        with self.assertRaises(SystemExit):
            processes.run(["false"])


class PerfData(unittest.TestCase):
    def test_SamplesAndLossesAreCountedAndLossesOnce(self):
        records = [struct.pack("<IHHQ", processes.PERF_SAMPLE, 0, 16, 0)] * 3
        records.append(struct.pack("<IHH2Q", processes.PERF_LOST, 0, 24, 1, 5))
        records.append(struct.pack("<IHHQ", processes.PERF_LOST_SAMPLES, 0, 16, 7))
        data = b"".join(records)
        header = struct.pack("<8s8Q", b"PERFILE2", 104, 136, 0, 0, 72, len(data), 0, 0)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "perf.data"
            path.write_bytes(header + data)
            self.assertEqual(processes.perf_counts(path), (3, 7))


if __name__ == "__main__":
    unittest.main()
