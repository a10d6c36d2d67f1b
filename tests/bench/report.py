"""Turns the lines of a run into tables. Results that a run does not measure are kept from the earlier report."""

import importlib.metadata
import math
import re

RIVALS = ["tiledb", "hdf5", "zarrs", "duckdb", "node", "chromium", "limit", "files"]
# Suffixes of variant names, for workloads that measure more than one thing.
METRICS = {"read_after": ", then read", "open_read": ", small read", "encode": ", encode", "decode": ", decode"}
PACKAGES = ["tiledb", "h5py", "hdf5plugin", "zarr", "zarrs", "duckdb", "numpy"]
TOGETHER = "Together"


def versions():
    out = []
    for name in PACKAGES:
        try:
            out.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            out.append(f"{name} is not installed")
    return ", ".join(out)


def shown(row, what="median"):
    if row is None:
        return ""
    value = row["median"] if what == "median" else row["params"].get("cpu")
    wrong = " **wrong**" if row["params"].get("check_ok") is False else ""
    return "" if value is None else f"{value:.3g} {row['unit']}{wrong}"


def memory(row):
    p = row["params"] if row else {}
    if p.get("memory_peak_kb") is None or "memory_before_kb" not in p:
        return ""
    return f"{max(0, p['memory_peak_kb'] - p['memory_before_kb']) / 1024:.0f} MB"


def table(head, lines):
    return ["| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines]]


def beside(rows):
    """One line per measurement: Hyperslab, then each rival."""
    by = {}
    for r in rows:
        by.setdefault(r["variant"] + METRICS.get(r["metric"], ""), {}).setdefault(r["peer"], r)
    here = [p for p in RIVALS if any(p in cells for cells in by.values())]
    head = ["variant", "Hyperslab", "cpu", "memory"] + [x for p in here for x in (p, "cpu", "ratio")]
    lines = []
    for variant, cells in by.items():
        own = cells.get("hyperslab")
        line = [variant, shown(own), shown(own, "cpu"), memory(own)]
        for p in here:
            rival = cells.get(p)
            both = own and rival and own["median"] and rival["median"]
            line += [shown(rival), shown(rival, "cpu"), f"{rival['median'] / own['median']:.2f}" if both else ""]
        lines.append(line)
    return table(head, lines)


def growth(rows):
    """One line per growing quantity: its times, and the factor per doubling."""
    by = {}
    for r in rows:
        kind, axis, n = r["variant"].split("/")
        by.setdefault((kind, axis, r["metric"]), []).append((int(n), r))
    lines = []
    for (kind, axis, metric), steps in by.items():
        pairs = list(zip(steps, steps[1:]))
        factors = [(b["median"] / a["median"]) ** (1 / math.log2(n / m)) for (m, a), (n, b) in pairs]
        lines.append([f"{kind}, {metric}", f"{axis}: " + ", ".join(str(n) for n, _ in steps),
                      ", ".join(shown(r) for _, r in steps), ", ".join(f"{x:.2f}" for x in factors)])
    return table(["what", "steps", "times", "of a doubling"], lines)


def together(sections):
    """The summary of each rival over all tables."""
    found = {}
    for text in sections.values():
        head = []
        for line in re.findall(r"(?m)^\| (.*) \|$", text):
            cells = line.split(" | ")
            head = cells if "ratio" in cells else head
            for at, (name, cell) in enumerate(zip(head, cells)):
                if name == "ratio" and re.fullmatch(r"[\d.]*[1-9][\d.]*", cell.strip()):
                    found.setdefault(head[at - 2], []).append(float(cell))
    return "\n".join(
        f"- {p}: {math.exp(sum(map(math.log, r)) / len(r)):.2f} in the geometric mean of {len(r)} measurements,"
        f" {min(r):.2f} at worst" for p, r in found.items())


def render(said, rows, unmeasured, order, machine, command):
    """The report. `said` is the earlier report; `unmeasured` gives the reason for each workload not measured."""
    sections = dict(part.strip().split("\n\n", 1) for part in re.split(r"(?m)^## ", said)[1:])
    for workload in dict.fromkeys(r["workload"] for r in rows):
        mine = [r for r in rows if r["workload"] == workload]
        sections[workload] = "\n".join([command, "", *(growth if workload == "growth" else beside)(mine)])
    for workload, why in unmeasured.items():
        sections[workload] = f"Not measured: {why}."
    measured = {w: sections.pop(w) for w in order if w in sections}
    sections = measured | {TOGETHER: together(measured)} | {k: v for k, v in sections.items() if k != TOGETHER}
    return f"""# Benchmarks

{machine}. {versions()}. Each table says which command it is of, and when.

Medians of one operation; a ratio is the rival's time over Hyperslab's: above 1, Hyperslab is faster. Behind each time is the processor time of all cores, which says more where the machine has other work. The memory is what Hyperslab took at most beyond what it held before. Every read is checked against sums that no engine computed, and so is an array after an update.

- In `dense-random` and `dense-update` each rival does it in the quickest of the ways it has: by a list of cells, or by blocks read and written whole. libtiledb takes no list of cells for a dense array. Each run updates a fresh copy and ends when it is on the disk.
- `dense-cold` and `sparse-cold` are the same boxes, with the page cache dropped before each pass over them.
- `growth` is Hyperslab alone; the last column is what a doubling multiplies the time by, and the goal is 2 at most.
- Beside `wasm`, which is the npm package in Node and in Chromium, Hyperslab runs on one thread.
- `limit` and `files` are what no engine can undercut with as many threads. `limit` is from memory to memory: of a filter its compression library with nothing around it, or a copy of the bytes; of dense reads the result's cells copied out of tiles, or, of whole tiles that are compressed, the library's decoding of their chunks; of dense loads the library's encoding of the chunks. `files` is the same with files: as many bytes as the result has read out of the page cache, or the chunks read and decoded; the matrix, or the chunks that are encoded, written and synced. Of sparse reads it is the coordinates of the later fragments, each a file of one tile, read and decoded once for all boxes; of opening the folders listed and the ends of the metadata read, and with a small read the tiles that it needs besides.

""" + "\n".join(f"## {name}\n\n{text}\n" for name, text in sections.items())
