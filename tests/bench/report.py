"""Writes the results of a run to `bench/results`, and prints the table of ratios for BENCHMARKS.md.

    python report.py FOLDER     print the table of ratios of the results in FOLDER

Each workload has one CSV file. A run replaces the files of the workloads that it measures and keeps the others.
BENCHMARKS.md is written by hand; this program never changes it.
"""

import csv
import glob
import importlib.metadata
import math
import os
import sys

FIELDS = ["workload", "variant", "metric", "engine", "version", "median_s", "cpu_s", "memory_mb", "ratio", "per_doubling",
          "check", "date", "machine", "command"]
# The engines of each table of ratios, and their names in its head.
TABLES = [
    {"tiledb": "libtiledb", "tiledb-py": "tiledb-py", "hdf5": "HDF5", "zarrs": "Zarr with zarrs", "duckdb": "DuckDB",
     "limit": "memory limit", "files": "file limit"},
    {"node": "Node", "chromium": "Chromium"},
]
# The Python packages of each engine.
PACKAGES = {"tiledb": ["tiledb"], "hdf5": ["h5py", "hdf5plugin"], "zarrs": ["zarr", "zarrs"], "duckdb": ["duckdb"]}
# Metrics that a workload measures in addition to its main one. All others are called "time", except in `growth`.
METRICS = ["read_after", "open_read", "encode", "decode"]
SECONDS = {"s": 1, "ms": 1e-3}


def version(engine):
    """The versions of an engine's Python packages."""
    found = []
    for name in PACKAGES.get(engine, []):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return ", ".join(found)


def figure(x):
    """A number with four significant digits, without an exponent."""
    return "" if x is None else f"{x:.{max(0, 3 - math.floor(math.log10(abs(x))))}f}" if x else "0"


def memory(params):
    """The peak memory in MB, less what the process held before. Only Hyperslab reports it."""
    if params.get("memory_peak_kb") is None or "memory_before_kb" not in params:
        return ""
    return f"{max(0, params['memory_peak_kb'] - params['memory_before_kb']) / 1024:.0f}"


def metric(line):
    return line["metric"] if line["metric"] in METRICS or line["workload"] == "growth" else "time"


def per_doubling(line, before):
    """The factor by which a doubling multiplies the time, from the previous step of the same quantity."""
    n, m = (int(x["variant"].rsplit("/", 1)[1]) for x in (line, before))
    return (line["median"] / before["median"]) ** (1 / math.log2(n / m))


def rows(lines, machine, command, date):
    """The CSV rows of a run's JSON lines. A ratio is the engine's time divided by Hyperslab's."""
    first = {}
    for line in lines:
        first.setdefault((line["workload"], line["variant"], metric(line), line["peer"]), line)
    steps, found = {}, []
    for (workload, variant, name, engine), line in first.items():
        own = first.get((workload, variant, name, "hyperslab"))
        ratio = line["median"] / own["median"] if engine != "hyperslab" and own and own["median"] else None
        factor = None
        if workload == "growth":
            quantity = variant.rsplit("/", 1)[0], name
            factor = per_doubling(line, steps[quantity]) if quantity in steps else None
            steps[quantity] = line
        params, seconds = line["params"], SECONDS[line["unit"]]
        cpu = params.get("cpu")
        found.append({
            "workload": workload, "variant": variant, "metric": name, "engine": engine, "version": version(engine),
            "median_s": figure(line["median"] * seconds), "cpu_s": "" if cpu is None else figure(cpu * seconds),
            "memory_mb": memory(params), "ratio": figure(ratio), "per_doubling": figure(factor),
            "check": "failed" if params.get("check_ok") is False else "", "date": date, "machine": machine,
            "command": command})
    return found


def write(folder, found):
    """Writes one CSV file per workload. Returns the paths."""
    os.makedirs(folder, exist_ok=True)
    paths = []
    for workload in dict.fromkeys(r["workload"] for r in found):
        paths.append(os.path.join(folder, workload + ".csv"))
        with open(paths[-1], "w", newline="") as f:
            out = csv.DictWriter(f, FIELDS, lineterminator="\n")
            out.writeheader()
            out.writerows(r for r in found if r["workload"] == workload)
    return paths


def read(folder):
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*.csv"))):
        with open(path, newline="") as f:
            found += csv.DictReader(f)
    return found


def shown(ratio):
    """A ratio with two decimals, from 10 with one, from 100 with none."""
    return f"{ratio:.{2 if ratio < 9.995 else 1 if ratio < 99.95 else 0}f}"


def cell(ratios):
    if not ratios:
        return ""
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"{shown(mean)} ({shown(min(ratios))}–{shown(max(ratios))})"


def summary(found):
    """The tables of ratios in Markdown: the geometric mean of each workload and engine, the least and the greatest."""
    ratios = {}
    for r in found:
        if r["ratio"] and float(r["ratio"]) > 0:
            ratios.setdefault((r["workload"], r["engine"]), []).append(float(r["ratio"]))
    text = []
    for names in TABLES:
        engines = [e for e in names if any(e == engine for _, engine in ratios)]
        lines = [["workload", *(names[e] for e in engines)], ["---"] * (len(engines) + 1)]
        lines += [[w, *(cell(ratios.get((w, e))) for e in engines)] for w in sorted({r["workload"] for r in found})
                  if any((w, e) in ratios for e in engines)]
        every = {e: [x for (_, engine), some in ratios.items() if engine == e for x in some] for e in engines}
        if len(lines) > 3:
            lines.append(["all", *(cell(every[e]) for e in engines)])
        lines.append(["measurements", *(str(len(every[e])) for e in engines)])
        if engines:
            text.append("\n".join("| " + " | ".join(line) + " |" for line in lines))
    failed = dict.fromkeys(f"{r['workload']} {r['variant']} {r['engine']}" for r in found if r["check"])
    if failed:
        text.append("These results failed their check: " + ", ".join(failed))
    return "\n\n".join(text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(summary(read(sys.argv[1])))
