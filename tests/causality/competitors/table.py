#!/usr/bin/env python3
# Prints the scores that `rows` left in a folder, one line a mechanism, fault and tool.
# usage: table.py FOLDER
import json
import pathlib
import sys

TOOLS = ("cprof", "app_trace", "perf_cpu", "perf_cpu_affine", "off_cpu", "off_cpu_affine",
         "trace_newest", "trace_best", "sampled_50", "sampled_10", "sampled_1")
COLUMNS = (("precision_observed", "precision"), ("recall", "recall"),
           ("wrong_owner", "wrong own"), ("unknown_owner", "unknown"),
           ("wall_error_median", "wall err"), ("cpu_error_median", "cpu err"))


def percent(score):
    value = score.get("value") if score else None
    return "-" if value is None else f"{100 * value:.2f} %"


def main():
    rows = []
    for path in pathlib.Path(sys.argv[1]).glob("*.json"):
        told = json.loads(path.read_text(encoding="utf-8"))
        labels = told.get("labels", {})
        if labels.get("tool") in TOOLS:
            rows.append((labels["mechanism"], labels["fault"], TOOLS.index(labels["tool"]), told))
    rows.sort(key=lambda row: row[:3])
    names = "".join(f"{name:>12}" for _, name in COLUMNS)
    print(f"{'mechanism':12}{'fault':12}{'tool':18}{names}{'false':>8}{'B/edge':>9}")
    for mechanism, fault, tool, told in rows:
        false = sum(kind["count"] for kind in told.get("false_joins", {}).values())
        overhead = told.get("overhead", {})
        per_edge = overhead["bytes"] / overhead["edges"] if overhead.get("edges") else None
        print(f"{mechanism:12}{fault:12}{TOOLS[tool]:18}" +
              "".join(f"{percent(told['scores'].get(name)):>12}" for name, _ in COLUMNS) +
              f"{false:8d}{'-' if per_edge is None else f'{per_edge:.1f}':>9}")


if __name__ == "__main__":
    main()
