"""Turns the lines of a run into tables."""

import importlib.metadata
import math

RIVALS = ["tiledb", "hdf5", "zarrs", "duckdb", "wasm", "limit"]
# What stands behind a variant's name where a workload measures more than one thing.
METRICS = {"read_after": ", then read", "open_read": ", small read", "encode": ", encode", "decode": ", decode"}
# The first heading that no run writes.
PROSE = "## Goals that fall short"
PACKAGES = ["tiledb", "h5py", "hdf5plugin", "zarr", "zarrs", "duckdb", "numpy"]


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


def render(rows, machine, packages, command):
    by = {}
    for r in rows:
        name = r["variant"] + METRICS.get(r["metric"], "")
        by.setdefault((r["workload"], name), {}).setdefault(r["peer"], r)
    present = [p for p in RIVALS if any(p in cells for cells in by.values())]
    text = [
        "# Benchmarks", "",
        f"`{command}` on {machine}. {packages}.", "",
        "Medians of one operation; a ratio is the rival's time over Hyperslab's: above 1, Hyperslab is faster. Behind each"
        " time is the processor time of all cores, which says more where the machine has other work. The memory is what"
        " Hyperslab took at most beyond what it held before. Every read is checked against sums that no engine computed."
        " Beside wasm, which is the npm package in Node, Hyperslab runs on one thread. The limit of a filter is its compression library with nothing around it, or a copy of the bytes.", "",
    ]
    ratios = {p: [] for p in present}
    for workload in dict.fromkeys(k[0] for k in by):
        here = [p for p in present if any(p in cells for k, cells in by.items() if k[0] == workload)]
        head = ["variant", "Hyperslab", "cpu", "memory"] + [x for p in here for x in (p, "cpu", "ratio")]
        text += [f"## {workload}", "", "| " + " | ".join(head) + " |", "| " + " | ".join(["---"] * len(head)) + " |"]
        for (w, variant), cells in by.items():
            if w != workload:
                continue
            own = cells.get("hyperslab")
            line = [variant, shown(own), shown(own, "cpu"), memory(own)]
            for p in here:
                rival = cells.get(p)
                ratio = ""
                if own and rival and own["median"] and rival["median"]:
                    ratio = rival["median"] / own["median"]
                    ratios[p].append(ratio)
                    ratio = f"{ratio:.2f}"
                line += [shown(rival), shown(rival, "cpu"), ratio]
            text.append("| " + " | ".join(line) + " |")
        text.append("")
    text += ["## Together", ""]
    for p, found in ratios.items():
        if found:
            mean = math.exp(sum(map(math.log, found)) / len(found))
            text.append(f"- {p}: {mean:.2f} in the geometric mean of {len(found)} measurements, {min(found):.2f} at worst")
    return "\n".join(text) + "\n"


def prose(text):
    """What somebody wrote behind the tables of an earlier report."""
    at = text.find(PROSE)
    return "" if at < 0 else "\n" + text[at:]


def memory(row):
    p = row["params"] if row else {}
    if p.get("memory_peak_kb") is None or "memory_before_kb" not in p:
        return ""
    return f"{max(0, p['memory_peak_kb'] - p['memory_before_kb']) / 1024:.0f} MB"
