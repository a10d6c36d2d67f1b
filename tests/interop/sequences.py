"""Random sequences of operations: writes, deletes, evolution, consolidation and vacuum in any order."""

import cases as c
import matrix



def maintenance(rng):
    mode = rng.choice(["fragments", "fragments", "commits", "fragment_meta"])
    return {"op": rng.choice(["consolidate", "consolidate", "vacuum"]), "mode": mode}


def evolution(rng, now, k, t):
    """Drops or adds an attribute; `now` is the list of those there are. Conditions are about the first two."""
    if len(now) > 2 and rng.random() < 0.4:
        gone = now.pop()
        return {"op": "evolve", "t": t, "drop": [gone["name"]]}
    a = c.attr(f"new{k}", rng.choice(["int16", "float32", "string_utf8"]), rng.choice([1, 2, "var"]), [], rng.random() < 0.5)
    a["no_empty"] = True
    now.append(a)
    return {"op": "evolve", "t": t, "add": [a]}


def sequence(number):
    """A case. One in three evolves; its times must be those at which it is performed."""
    name = f"sequence.{number}"
    rng = c.rng_for(name)
    sparse = rng.random() < 0.5
    attrs = [c.attr("a", "int32"), c.attr("s", "string_ascii", "var"), c.attr("n", "int32", nullable=True)]
    dims = [c.dim("y", "int32", -3, 8, 4), c.dim("x", "int32", 0, 9, 3)]
    if sparse:
        schema = matrix.sparse(attrs, dims, order=rng.choice(["row", "col", "hilbert"]), dups=rng.random() < 0.2, capacity=rng.choice([2, 5, 100]))
    else:
        schema = matrix.dense(attrs, dims, order=rng.choice(["row", "col"]), tile=rng.choice(["row", "col"]))
    ops, t, now = [], 10, list(attrs)
    for k in range(rng.randint(3, 9)):
        roll = rng.random()
        if k == 0 or roll < 0.5:
            ops.append(matrix.write(rng, schema, t, k, attrs=list(now), n=8))
        elif roll < 0.65 and sparse:
            ops.append({"op": "delete", "t": t, "cond": matrix.conditions(rng, attrs[:2], dims)})
        elif roll < 0.7 and number % 3 == 2:
            ops.append(evolution(rng, now, k, t))
        elif roll < 0.75:
            ops.append({"op": "meta", "t": t, "put": {f"k{rng.randint(0, 3)}": ["int32", 1, c.enc("int32", k)]}})
        else:
            ops.append(maintenance(rng))
        t += 10
    case = {"name": name, "tags": [schema["kind"]], "schema": schema, "ops": ops}
    case["evolves"] = number % 3 == 2
    ends = [] if case["evolves"] else sorted({op["t"] for op in ops if op["op"] in ("write", "delete")})
    case["queries"] = c.queries(rng, case, ends, some=1)
    return case
