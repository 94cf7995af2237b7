# Tables of the benchmark, as text for a terminal that is markdown for RESULTS.md as well.


def table(heads, rows):
    """Markdown with columns of one width; the first column is text, the others stand right."""
    cells = [list(heads), *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]

    def line(row):
        fitted = [cell.ljust(width) if i == 0 else cell.rjust(width)
                  for i, (cell, width) in enumerate(zip(row, widths))]
        return "| " + " | ".join(fitted) + " |"

    rule = "|" + "|".join("-" * (width + 1) + ("-" if i == 0 else ":")
                          for i, width in enumerate(widths)) + "|"
    return "\n".join([line(cells[0]), rule, *map(line, cells[1:])])


def _lost(cost):
    made = cost["events_of_all"] + cost["lost"]
    return f"{cost['lost']} ({cost['lost'] / made:.2%})" if cost["lost"] else "0"


def overhead_table(measured):
    """Two rows for each workload: what each recorder added to it."""
    heads = ("workload, recorder", "ns CPU", "ns wall", "slower CPU", "slower wall",
             "added ns an event CPU", "wall", "of perf's CPU", "wall", "bytes an event", "events",
             "lost")
    rows = []
    for name, result in measured.items():
        for label, cost in result["summary"].items():
            row = [f"{name}, {label}", f"{cost['cpu_ns']:.0f}", f"{cost['wall_ns']:.0f}"]
            if label == "nothing":
                rows.append(row + [""] * (len(heads) - len(row)))
                continue
            rows.append(row + [
                f"{cost['slow_down_cpu']:.3f}", f"{cost['slow_down_wall']:.3f}",
                f"{cost['added_cpu_ns_per_event']:.0f}", f"{cost['added_wall_ns_per_event']:.0f}",
                f"{cost['of_perf_cpu']:.2f}", f"{cost['of_perf_wall']:.2f}",
                f"{cost['bytes_per_event']:.1f}", f"{cost['events']:.0f}", _lost(cost)])
    return table(heads, rows)


def scale_table(rows):
    heads = ("recording, command", "million half-edges", "file MB", "CPU s", "wall s",
             "million a CPU second", "peak MiB")
    return table(heads, [
        (f"{row['workload']}, {row['command']}", f"{row['million']:.3g}",
         f"{row['file_bytes'] / 1e6:.1f}", f"{row['cpu_s']:.2f}", f"{row['wall_s']:.2f}",
         f"{row['million_per_s']:.2f}", f"{row['peak_bytes'] / 2**20:.1f}") for row in rows])


RECORDING = """\
Interleaved rounds (nothing, cprof, perf); {rounds} operations. ns CPU and ns wall are of one
operation; slower, and of perf's, are ratios of medians. The workload runs on CPU 0, recorders on
CPU 1 (as does redis-benchmark). What is recorded: of nop and fio the io_uring requests (submit and
completion), of futex and redis the scheduler on the whole system (`cprof record -a -e sched` beside
`perf sched record`). An event of cprof carries what it takes to join it, one of perf what its
tracepoint has. Bytes are those of the file.
"""
READING = """\
CPU time (user and system), wall time and peak memory of a command with its output thrown away, on
recordings made by `report_scale_write`; diff reads two. `perf script` reads what perf recorded of
the loops above, and only prints it: its rate is in events, beside half-edges.
"""


def document(result):
    """RESULTS.md of a run."""
    machine = result["machine"]
    quick = "**A quick run: of little worth.** " if result["quick"] else ""
    parts = ["# What cprof costs, beside perf", "",
             f"Made by `./dev bench`. {quick}{machine['cpu']}, {machine['cpus']} CPUs, "
             f"{machine['memory_bytes'] / 2**30:.0f} GiB; Linux {machine['kernel']}; "
             f"perf {machine['perf']}; load {machine['load_before']:.2f} at the beginning.", ""]
    if result.get("overhead"):
        rounds = ", ".join(f"{name} {one['rounds']} of {one['operations']}"
                           for name, one in result["overhead"].items())
        parts += ["## Recording", "", RECORDING.format(rounds=rounds),
                  overhead_table(result["overhead"]), ""]
    if result.get("scale"):
        parts += ["## Reading", "", READING, scale_table(result["scale"]), ""]
    return "\n".join(parts)
