"""Turns the lines of a run into tables."""

import importlib.metadata
import math

RIVALS = ["tiledb", "hdf5", "zarrs", "duckdb"]
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


def render(rows, machine, packages, command="cargo xtask bench"):
    by = {}
    for r in rows:
        metric = "time" if r["metric"] != "read_after" else "read_after"
        by.setdefault((r["workload"], r["variant"], metric), {})[r["peer"]] = r
    present = [p for p in RIVALS if any(p in cells for cells in by.values())]
    text = [
        "# Benchmarks", "",
        f"`{command}` on {machine}. {packages}.", "",
        "Medians of one operation. Behind each time is the processor time of all cores, which says more where the machine"
        " has other work. Ratios are the rival's processor time over Hyperslab's: above 1, Hyperslab needs less. The memory"
        " is what Hyperslab took at most beyond what it held before. Every read is checked against sums that no engine computed.", "",
    ]
    ratios = {p: [] for p in present}
    for workload in dict.fromkeys(k[0] for k in by):
        head = ["variant", "Hyperslab", "cpu", "memory"] + [x for p in present for x in (p, "cpu", "ratio")]
        text += [f"## {workload}", "", "| " + " | ".join(head) + " |", "| " + " | ".join(["---"] * len(head)) + " |"]
        for (w, variant, metric), cells in by.items():
            if w != workload:
                continue
            own = cells.get("hyperslab")
            line = [variant if metric == "time" else f"{variant}, then read", shown(own), shown(own, "cpu"), memory(own)]
            for p in present:
                rival = cells.get(p)
                ratio = ""
                if own and rival and own["params"].get("cpu") and rival["params"].get("cpu"):
                    ratio = rival["params"]["cpu"] / own["params"]["cpu"]
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


def memory(row):
    p = row["params"] if row else {}
    if p.get("memory_peak_kb") is None or "memory_before_kb" not in p:
        return ""
    return f"{max(0, p['memory_peak_kb'] - p['memory_before_kb']) / 1024:.0f} MB"
