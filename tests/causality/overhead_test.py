#!/usr/bin/env python3
# Tests of overhead.py: latencies out of a log, and medians and ratios of rounds.
import contextlib
import io
import tempfile
import unittest

import overhead


def record(truth, operation, before_ns, after_ns):
    return overhead.RECORD.pack(truth, 1, 0, 0, operation, 0, 0, before_ns, after_ns, 0, 0, 0)


class Latencies(unittest.TestCase):
    def latencies(self, records):
        with tempfile.NamedTemporaryFile() as log:
            log.write(bytes(overhead.RECORD.size) + b"".join(records))
            log.flush()
            return overhead.latencies(log.name)

    def test_PercentilesAreThoseOfRequestsThatEnded(self):
        records = [record(0, 0, 0, 0)]
        for i in range(1, 1001):
            records.append(record(overhead.REQUEST_BEGIN, i, 5, 10))
            records.append(record(overhead.REQUEST_END, i, 10 + 1000 * i, 10 + 1000 * i + 7))
        records.append(record(overhead.REQUEST_BEGIN, 2000, 1, 2))
        self.assertEqual(self.latencies(records),
                         {"p50_ns": 501000, "p99_ns": 991000, "p99.9_ns": 1000000})

    def test_TooFewRequestsAreNoDistribution(self):
        with self.assertRaises(SystemExit):
            self.latencies([record(overhead.REQUEST_BEGIN, 1, 1, 2),
                            record(overhead.REQUEST_END, 1, 3, 4)])


class Summary(unittest.TestCase):
    NOTHING = ([{"wall_s": 1.0, "cpu_s": 2.0, "recorder_cpu_s": 0.0, "bytes": 0}] * 3,
               [{"p50_ns": 10, "p99_ns": 20, "p99.9_ns": 40}] * 3)

    def test_OneRoundThatWentWrongDoesNotCount(self):
        unpaced = [{"wall_s": wall, "cpu_s": cpu, "recorder_cpu_s": 0.5, "bytes": 100}
                   for wall, cpu in ((2.0, 3.0), (90.0, 80.0), (2.0, 3.0))]
        paced = [{"p50_ns": 15, "p99_ns": 20, "p99.9_ns": 20}] * 3
        row = overhead.summary("trace", unpaced, paced, self.NOTHING)
        self.assertEqual((row["slow_down_cpu"], row["slow_down_wall"]), (1.5, 2.0))
        self.assertEqual(row["recorder_cpu_share"], 0.25)
        self.assertEqual((row["p50_ratio"], row["p99.9_ratio"]), (1.5, 0.5))
        self.assertNotIn("bytes_per_edge", row)

    def test_CprofIsScoredForTheSameRecording(self):
        paced = [{"p50_ns": 10, "p99_ns": 20, "p99.9_ns": 40, "edges": 50, "paced_bytes": 1000,
                  "scores": {"scores": {}}}] * 3
        row = overhead.summary("cprof", self.NOTHING[0], paced, self.NOTHING)
        self.assertEqual(row["bytes_per_edge"], 20)
        self.assertEqual(row["scores"], {"scores": {}})
        row["recorder_start_cpu_s"] = 0.1
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            overhead.print_table("any", {"cprof": row})
        self.assertIn("cprof", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
