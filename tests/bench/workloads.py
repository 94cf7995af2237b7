# What is recorded: programs that do a known number of operations and say what one took.
"""Each has `run(operations, wrap)` -> (CPU ns, wall ns) of one operation. Where the workload is a
process that lasts, `pid` is it and recorders attach; where each run is a process of its own, `pid`
is None and `wrap` turns its command into that of a recorder around it. Workloads run on CPU 0.
"""
import json
import os
import subprocess
import sys
import time

import processes

WORKLOAD_CPU, OTHER_CPU = 0, 1


class Loop:
    """A program of tests/bench that does as many operations as each line of its input says."""

    def __init__(self, build, program):
        self._process = subprocess.Popen(
            processes.pinned(WORKLOAD_CPU, [f"{build}/tests/bench/{program}"]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self._process.pid
        self.run(1000)

    def run(self, operations, wrap=None):
        self._process.stdin.write(f"{operations}\n")
        self._process.stdin.flush()
        cpu_ns, wall_ns = map(float, self._process.stdout.readline().split())
        return cpu_ns, wall_ns

    def close(self):
        self._process.kill()
        self._process.wait()


class Fio:
    """Random reads of 4 KiB out of the page cache by fio's io_uring engine."""

    pid = None

    def __init__(self, folder):
        self._file, self._result = f"{folder}/fio.file", f"{folder}/fio.json"
        self.run(1000)

    def run(self, operations, wrap=None):
        command = processes.pinned(WORKLOAD_CPU, [
            "fio", "--name=bench", "--ioengine=io_uring", "--rw=randread", "--bs=4k",
            "--filesize=64m", f"--io_size={4 * operations}k", "--iodepth=16",
            f"--filename={self._file}", "--output-format=json", f"--output={self._result}"])
        done = subprocess.run(wrap(command) if wrap else command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            sys.exit("bench: fio failed: " + done.stdout)
        self.output = done.stdout
        with open(self._result, encoding="utf-8") as text:
            job = json.load(text)["jobs"][0]
        wall_ns = job["read"]["runtime"] * 1e6
        cpu_ns = wall_ns * (job["usr_cpu"] + job["sys_cpu"]) / 100
        return cpu_ns / job["read"]["total_ios"], wall_ns / job["read"]["total_ios"]

    def close(self):
        pass


class Redis:
    """SETs that redis-benchmark sends to redis-server over a socket, from sixteen clients."""

    def __init__(self, folder):
        self._socket = f"{folder}/redis.socket"
        self._server = subprocess.Popen(
            processes.pinned(WORKLOAD_CPU, ["redis-server", "--port", "0", "--unixsocket",
                                            self._socket, "--save", "", "--dir", folder]),
            stdout=subprocess.DEVNULL)
        self.pid = self._server.pid
        while not os.path.exists(self._socket):
            if self._server.poll() is not None:
                sys.exit("bench: redis-server does not start")
            time.sleep(0.01)
        self.run(1000)

    def run(self, operations, wrap=None):
        before_ns = processes.cpu_ns(self.pid)
        client = processes.pinned(OTHER_CPU, ["redis-benchmark", "-s", self._socket, "-t", "set",
                                              "-c", "16", "-n", operations, "--csv"])
        done = subprocess.run(client, stdout=subprocess.PIPE, text=True, check=True)
        cpu = processes.cpu_ns(self.pid) - before_ns
        # "test","rps",...  "SET","123456.78",...
        per_second = float(done.stdout.splitlines()[-1].split(",")[1].strip('"'))
        return cpu / operations, 1e9 / per_second

    def close(self):
        self._server.terminate()
        self._server.wait()
