"""Makes the inputs of the benchmark, its queries and the expected answers from one seed.

The dense matrix holds value(row, column) = row * columns + column. The sparse cells imitate positions
of ships: most of them lie near harbours of very different size, few are spread over the ocean.
"""

import json
import os

import numpy as np

SEED = 20160905
TILE = (2500, 1000)
DOMAIN = [0, 360_000_000, 0, 180_000_000]
COLUMNS = ["X", "Y", "SOG", "COG", "Heading", "ROT", "Status", "VoyageID", "MMSI"]
FRAGMENTS, FRAGMENT_CELLS = 1000, 1000
UPDATE = (25, 40)
FIRST = 10


def box_sum(cols, b):
    nr, nc = b[1] - b[0] + 1, b[3] - b[2] + 1
    return int(cols * nc * (b[0] + b[1]) * nr // 2 + nr * nc * (b[2] + b[3]) // 2)


def dense(root, rows, cols):
    rng = np.random.default_rng(SEED)
    np.arange(rows * cols, dtype="<i4").tofile(os.path.join(root, "input", "dense.i32"))
    tr, tc = TILE
    grid = [(r, c) for r in range(0, rows, tr) for c in range(0, cols, tc)]
    pick = [grid[i] for i in rng.permutation(len(grid))[:10]]
    side = min(1000, rows, cols)
    sets = {
        "tile": [[r, r + tr - 1, c, c + tc - 1] for r, c in pick],
        "par": [[r, r + tr - 2, c, c + tc - 2] for r, c in pick],
        "col": [[0, rows - 1, int(c), int(c)] for c in rng.integers(0, cols, 5)],
        "row": [[int(r), int(r), 0, cols - 1] for r in rng.integers(0, rows, 5)],
        "sq1k": [[int(r), int(r) + side - 1, int(c), int(c) + side - 1]
                 for r, c in zip(rng.integers(0, rows - side + 1, 20), rng.integers(0, cols - side + 1, 20))],
        "cell": [[int(r), int(r), int(c), int(c)] for r, c in zip(rng.integers(0, rows, 10), rng.integers(0, cols, 10))],
        "full": [[0, rows - 1, 0, cols - 1]],
    }
    random = {}
    for n in (1000, 10_000, 100_000):
        at = np.stack([rng.integers(0, rows, n), rng.integers(0, cols, n)], 1).astype("<i8")
        at.tofile(os.path.join(root, "queries", f"random-{n}.i64"))
        random[str(n)] = {"file": f"random-{n}.i64", "sum": int((at[:, 0] * cols + at[:, 1]).sum())}
    updates = []
    for _ in range(FRAGMENTS):
        r, c = grid[rng.integers(len(grid))]
        r, c = r + int(rng.integers(0, tr - UPDATE[0] + 1)), c + int(rng.integers(0, tc - UPDATE[1] + 1))
        updates.append([r, r + UPDATE[0] - 1, c, c + UPDATE[1] - 1])
    matrix = np.arange(rows * cols, dtype="i8").reshape(rows, cols)
    after, done = {}, 0
    for n in (0, 1, 10, 100, 1000):
        for k in range(done, n):
            a, b, c, d = updates[k]
            matrix[a:b + 1, c:d + 1] = -(k + 1)
        done = n
        after[str(n)] = sum(int(matrix[a:b + 1, c:d + 1].sum()) for a, b, c, d in sets["sq1k"])
    return {
        "shape": [rows, cols], "tile": list(TILE), "random": random, "updates": updates,
        "subarray": {k: {"boxes": v, "sum": sum(box_sum(cols, b) for b in v)} for k, v in sets.items()},
        "sq1k_sum_after": after,
    }


def positions(rng, n):
    harbours = np.stack([rng.uniform(5e6, 355e6, 40), rng.uniform(40e6, 140e6, 40)], 1)
    weight = 1 / np.arange(1, 41)
    moored = int(n * .95)
    at = harbours[rng.choice(40, moored, p=weight / weight.sum())] + rng.normal(0, 60_000, (moored, 2))
    ocean = np.stack([rng.uniform(0, 360e6, n - moored), rng.uniform(0, 180e6, n - moored)], 1)
    xy = np.rint(np.concatenate([at, ocean])).astype("i8")
    x, y = np.clip(xy[:, 0], 0, DOMAIN[1]), np.clip(xy[:, 1], 0, DOMAIN[3])
    ship = rng.integers(0, 9000, n)
    small = rng.random(n) < .8
    other = [np.where(small, 0, rng.integers(0, 300, n)), rng.integers(0, 3600, n), rng.integers(0, 360, n),
             np.where(small, 0, rng.integers(-20, 21, n)), rng.integers(0, 16, n), ship * 7 % 60_000, 200_000_000 + ship]
    return [x, y] + [np.asarray(c).astype("<i8") for c in other], harbours


def sums(columns):
    return dict({"cells": len(columns[0])}, **{n: int(c.sum()) for n, c in zip(COLUMNS, columns)})


def add(a, b):
    return {k: a.get(k, 0) + v for k, v in b.items()}


def sparse(root, points):
    rng = np.random.default_rng(SEED + 1)
    later = FRAGMENTS * FRAGMENT_CELLS
    drawn, harbours = positions(rng, int((points + later) * 1.2))
    key = drawn[0] * (DOMAIN[3] + 1) + drawn[1]
    chosen = rng.permutation(np.unique(key, return_index=True)[1])[:points + later]
    load, fresh = ([c[chosen[s]] for c in drawn] for s in (slice(0, points), slice(points, None)))
    again, where = rng.permutation(points)[:later // 10], rng.permutation(later)[:later // 10]
    for k, (f, c) in enumerate(zip(fresh, load)):       # one in ten overwrites
        f[where] = c[again] + (1000 if COLUMNS[k] == "SOG" else 0)
    for folder, cells in (("sparse", load), ("sparse-new", fresh)):
        for name, c in zip(COLUMNS, cells):
            c.astype("<i8").tofile(os.path.join(root, "input", folder, name + ".i64"))

    def inside(cells, b):
        return np.flatnonzero((cells[0] >= b[0]) & (cells[0] <= b[1]) & (cells[1] >= b[2]) & (cells[1] <= b[3]))

    sets = {}
    for label, centre, part in (("dq-10k", harbours[0], .001), ("dq-100k", harbours[0], .01), ("dq-1m", harbours[0], .1),
                                ("sq-1k", None, .0001), ("sq-10k", None, .001)):
        cx, cy = centre if centre is not None else (180e6, 90e6)
        away = np.sort(np.maximum(abs(load[0] - cx), abs(load[1] - cy)))
        half = away[max(1, int(points * part))]
        boxes = []
        for _ in range(20):
            dx, dy = rng.uniform(-.15, .15, 2) * 2 * half
            boxes.append([int(max(0, cx + dx - half)), int(min(DOMAIN[1], cx + dx + half)),
                          int(max(0, cy + dy - half)), int(min(DOMAIN[3], cy + dy + half))])
        total, first = {}, {}
        for k, b in enumerate(boxes):
            here = inside(load, b)
            one = sums([c[here] for c in load])
            total = add(total, one) if total else one
            if k + 1 == FIRST:
                first = dict(total)
        sets[label] = {"boxes": boxes, "expect": total, "expect_first": first}
    after = {}
    for f in (0, 10, 100, 1000):
        cells = [np.concatenate([a, b[:f * FRAGMENT_CELLS]]) for a, b in zip(load, fresh)]
        key = cells[0] * (DOMAIN[3] + 1) + cells[1]
        order = np.argsort(key, kind="stable")
        last = order[np.append(key[order][1:] != key[order][:-1], True)]
        cells = [c[last] for c in cells]
        for label in ("dq-10k", "sq-10k"):
            total = {}
            for b in sets[label]["boxes"][:FIRST]:
                here = inside(cells, b)
                one = sums([c[here] for c in cells])
                total = add(total, one) if total else one
            after[f"{f}/{label}/last"] = total
    return {"domain": DOMAIN, "columns": COLUMNS, "first": FIRST, "subarray": sets, "after": after}


def make(root, scale):
    rows = max(1, round(8 * scale ** .5)) * TILE[0]
    cols = max(1, round(10 * scale ** .5)) * TILE[1]
    for part in ("input/sparse", "input/sparse-new", "queries", "arrays"):
        os.makedirs(os.path.join(root, part), exist_ok=True)
    for name, q in (("dense", dense(root, rows, cols)), ("sparse", sparse(root, max(100_000, int(1e7 * scale))))):
        with open(os.path.join(root, "queries", name + ".json"), "w") as f:
            json.dump(q, f)
