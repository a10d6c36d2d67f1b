// Writes and reads arrays in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import vm from "node:vm";
import { create, get, HyperslabError, MemoryStore, mount, open, put, query, slice } from "hyperslab";

const plane = {
  type: "dense",
  dims: [
    { name: "y", type: "int32", domain: [0, 5], tile: 4 },
    { name: "x", type: "int32", domain: [0, 3], tile: 2 },
  ],
  attrs: [{ name: "a", type: "int32", filters: ["byteshuffle", ["zstd", { level: 5 }]] }],
};
const counted = Int32Array.from({ length: 24 }, (_, i) => i);

async function written(schema = plane, data = counted) {
  const store = new MemoryStore();
  const array = await create(store, schema, { at: 1 });
  await put(array, null, data, { at: 2 });
  return { store, array: await open(store) };
}

test("an open array has its schema, fragments and times", async () => {
  const { array } = await written();
  assert.equal(array.kind, "dense");
  assert.deepEqual(array.shape, [6, 4]);
  assert.deepEqual(array.dims[0], { name: "y", type: "int32", cell: 1, domain: [0, 5], tile: 4 });
  assert.deepEqual(array.attrs, [{ name: "a", type: "int32", cell: 1, nullable: false }]);
  assert.deepEqual(array.nonEmptyDomain(), [[0, 5], [0, 3]]);
  const [fragment] = array.fragments();
  assert.deepEqual([fragment.start, fragment.end, fragment.cells, fragment.dense], [2, 2, 24, true]);
  assert.equal(array.schema.type, "dense");
});

test("get reads the whole array in both orders", async () => {
  const { array } = await written();
  const c = await get(array);
  assert.deepEqual([c.data, c.shape, c.stride], [counted, [6, 4], [4, 1]]);
  const f = await get(array, null, { order: "col" });
  assert.deepEqual([f.shape, f.stride, f.order], [[6, 4], [1, 6], "col"]);
  assert.equal(f.at(3, 2), 14);
  assert.equal(f.data[3 * f.stride[0] + 2 * f.stride[1]], 14);
  await assert.rejects(put(array, null, f), { code: "InvalidArgument", message: /order 'col'.*\{ order: "col" \}/ });
  await put(array, null, f, { at: 50, order: "col" });
  assert.deepEqual((await get(await array.at(50))).data, counted);
  for (const order of ["F", "global"]) await assert.rejects(get(array, null, { order }), { message: /use row or col/ });
});

test("get reads into the array `out`", async () => {
  const { array } = await written();
  const room = new Int32Array(10).fill(-1);
  const out = room.subarray(3, 7);
  const chunk = await get(array, [[1, 2], [1, 2]], { out });
  assert.equal(chunk.data, out);
  assert.deepEqual([...room], [-1, -1, -1, 5, 6, 9, 10, -1, -1, -1]);
  assert.deepEqual([chunk.shape, chunk.at(1, 0)], [[2, 2], 9]);
  const refused = (out, message) => assert.rejects(get(array, [[1, 2], [1, 2]], { out }), (e) => e.code === "InvalidArgument" && message.test(e.message));
  await refused(new Int32Array(5), /has 16 bytes in this box, but 'out' has 20/);
  const floats = Float32Array.of(1, 2, 3, 4);
  await refused(floats, /give an Int32Array, not a Float32Array/);
  assert.deepEqual(floats, Float32Array.of(1, 2, 3, 4));
  await assert.rejects(get(array, [0, 0], { attrs: ["a", "y"], out }), /'out' takes one attribute, not 2/);
});

test("the type of `out` must match the named attribute", async () => {
  const store = new MemoryStore();
  const array = await create(store, { ...plane, attrs: [{ name: "a", type: "int32" }, { name: "b", type: "float32" }] }, { at: 1 });
  await put(array, [[0, 0], [0, 1]], { a: Int32Array.of(1, 2), b: Float32Array.of(0.5, 1.5) }, { at: 2 });
  const now = await open(store);
  const [ints, floats] = [new Int32Array(2), new Float32Array(2)];
  for (const [name, out, expected] of [["a", ints, [1, 2]], ["b", floats, [0.5, 1.5]], ["x", ints, [0, 1]]]) {
    for (const [selection, attrs] of [["0,0:2", name], ["0,0:2", [name]], [`${name}@0,0:2`, undefined]]) {
      out.fill(7);
      await get(now, selection, { out, ...(attrs ? { attrs } : {}) });
      assert.deepEqual([...out], expected);
      const other = out === ints ? floats : ints;
      other.fill(7);
      await assert.rejects(get(now, selection, { out: other, ...(attrs ? { attrs } : {}) }), { code: "InvalidArgument", message: /'out' must have the type/ });
      assert.deepEqual([...other], [7, 7]);
    }
  }
  // A quoted name is not recognised, so `out` must have the type of every attribute.
  await assert.rejects(get(now, "'a'@0,0:2", { out: floats }), { code: "InvalidArgument", message: /name the attribute in 'attrs'/ });
  assert.deepEqual([...floats], [7, 7]);
});

test("of writes in the same millisecond, the later one wins", async () => {
  for (let i = 0; i < 50; i++) {
    const { array } = await written();
    for (const value of [1, 2, 3]) await put(array, null, counted.map(() => value), { at: 7 });
    assert.equal((await get(await array.at(7))).data[0], 3);
  }
});

test("invalid times and steps are refused", async () => {
  const { store, array } = await written();
  const refused = (made, message) => assert.rejects(made, (e) => e.code === "InvalidArgument" && message.test(e.message));
  for (const at of [NaN, -1, new Date("2026-31-01"), "2026-11-01", [0, NaN]]) {
    await refused(open(store, { at }), /invalid time/);
    await refused(put(array, null, counted, { at }), /invalid time/);
  }
  await refused(array.at([5, 2]), /give the earlier time first/);
  for (const step of [1.5, NaN, -1, 0]) await refused(get(array, [slice(0, 4, step)]), /a step must be an integer/);
});

test("values that do not fit are refused", async () => {
  const fits = {
    int8: [-128, 127], uint16: [0, 65535], int32: [-(2 ** 31)], uint32: [2 ** 32 - 1], bool: [true, 0],
    int64: [-(2n ** 63n), 5], uint64: [2n ** 64n - 1n], float32: [NaN, 1e300, 0.1],
  };
  const not = {
    int8: [128, 1.5, NaN, "1"], uint16: [-1], int32: [3e9, Infinity], uint32: [2 ** 32], bool: [2],
    int64: [2n ** 63n, 2 ** 53, 0.5], uint64: [-1n, 2n ** 64n], float32: ["1", 1n],
  };
  for (const type of Object.keys(fits)) {
    const array = await create(new MemoryStore(), { ...plane, dims: [{ name: "x", type: "int32", domain: [0, 0], tile: 1 }], attrs: [{ name: "v", type }] }, { at: 1 });
    for (const value of fits[type]) await put(array, null, [value], { at: 2 });
    for (const value of not[type]) {
      await assert.rejects(put(array, null, [value], { at: 2 }), (e) => e.code === "InvalidArgument" && /'v'/.test(e.message), `${type} ${value}`);
    }
  }
});

test("fixed-length cells must have the right number of values", async () => {
  const cells = async (attr, data) => {
    const array = await create(new MemoryStore(), { ...plane, dims: [{ name: "x", type: "int32", domain: [0, 3], tile: 2 }], attrs: [{ name: "v", ...attr }] }, { at: 1 });
    await put(array, null, { v: data }, { at: 2 });
    const chunk = await get(await array.at(2));
    return [0, 1, 2, 3].map((i) => chunk.at(i));
  };
  const refused = (attr, data, message) => assert.rejects(cells(attr, data), (e) => e.code === "InvalidArgument" && message.test(e.message));
  const [char, pair] = [{ type: "char", cell: 3 }, { type: "int16", cell: 2 }];
  assert.deepEqual(await cells(char, ["a", "", "xyz", "é"]), ["a", "", "xyz", "é"]);
  await refused(char, ["a", "abcde", "xyz", "u12"], /'v'.*3 values of char.*cell 1 has 5/);
  await refused(pair, [Int16Array.of(1), Int16Array.of(2, 3, 4), Int16Array.of(5, 6), Int16Array.of(7, 8)], /2 values of int16.*cell 0 has 1/);
  await refused(pair, [1, 2, 3, 4], /cell 0 has 1/);
  assert.deepEqual(await cells(pair, [1, 3, 5, 7].map((i) => Int16Array.of(i, i + 1))), [1, 3, 5, 7].map((i) => Int16Array.of(i, i + 1)));
  assert.deepEqual(await cells({ ...pair, nullable: true }, [null, ...[3, 5, 7].map((i) => Int16Array.of(i, i + 1))]), [null, ...[3, 5, 7].map((i) => Int16Array.of(i, i + 1))]);
  const plain = { values: Int16Array.of(1, 2, 3, 4, 5, 6, 7, 8) };
  assert.deepEqual(await cells({ ...pair, nullable: true }, plain), [1, 3, 5, 7].map((i) => Int16Array.of(i, i + 1)));
});

test("put refuses arrays of another type, and accepts what get returns", async () => {
  const types = ["int8", "uint8", "bool", "char", "blob", "string_ascii", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "datetime_day", "time_ms", "string_utf16"];
  const given = [Int8Array, Uint8Array, Uint8ClampedArray, Buffer, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array, Float32Array, Float64Array];
  for (const type of types) {
    const array = await create(new MemoryStore(), { ...plane, dims: [{ name: "x", type: "int32", domain: [0, 0], tile: 1 }], attrs: [{ name: "v", type, cell: 1 }] }, { at: 1 });
    const write = (data) => put(array, null, data, { at: 2 });
    const own = (await get(array)).data.constructor;
    await write(await get(array));
    for (const Typed of given) {
      const fits = Typed === own || (own === Uint8Array && (Typed === Buffer || Typed === Uint8ClampedArray));
      const data = Typed === Buffer ? Buffer.alloc(own.BYTES_PER_ELEMENT) : new Typed(own.BYTES_PER_ELEMENT / Typed.BYTES_PER_ELEMENT || 1);
      for (const input of [data, { values: data }]) {
        if (fits) await write(input);
        else await assert.rejects(write(input), (e) => e.code === "InvalidArgument" && e.message.includes(`give ${/^[AEIO]/.test(own.name) ? "an" : "a"} ${own.name}`), `${Typed.name} as ${type}`);
      }
    }
  }
});

test("text keeps a byte order mark", async () => {
  const texts = ["\ufeffx", "\ufeff", "x\ufeff", ""];
  for (const type of ["string_utf8", "string_utf16"]) {
    const array = await create(new MemoryStore(), { ...plane, dims: [{ name: "x", type: "int32", domain: [0, 3], tile: 2 }], attrs: [{ name: "v", type, cell: "var" }] }, { at: 1 });
    await put(array, null, texts, { at: 2 });
    const chunk = await get(await array.at(2));
    assert.deepEqual([0, 1, 2, 3].map((i) => chunk.at(i)), texts, type);
  }
});

test("all kinds of selections select the same cells", async () => {
  const { array } = await written();
  const expected = [Int32Array.of(5, 6, 9, 10), [2, 2]];
  const selections = [
    [slice(1, 3), slice(1, 3)],
    [[1, 2], [1, 2]],
    { x: slice(1, 3), y: [1, 2] },
    { x: [1, 2], y: slice(1n, 3n) },
    "1:3,1:3",
  ];
  for (const selection of selections) {
    const chunk = await get(array, selection);
    assert.deepEqual([chunk.data, chunk.shape], expected, JSON.stringify(selection, (_, v) => typeof v === "bigint" ? `${v}n` : v));
  }
});

test("one coordinate drops its axis, a step skips cells, null selects all", async () => {
  const { array } = await written();
  const row = await get(array, [2, null]);
  assert.deepEqual([row.data, row.shape, row.stride], [Int32Array.of(8, 9, 10, 11), [4], [1]]);
  const ends = [[slice(2)], [slice(2, undefined)], [slice(undefined, 2)], [slice(1, undefined, 2)], [slice(undefined)], [slice(2, null)]];
  const rows = await Promise.all(ends.map(async (rows) => (await get(array, [...rows, 3])).shape[0]));
  assert.deepEqual(rows, [2, 4, 2, 3, 6, 4]);
  const column = await get(array, [slice(null, null, 2), 3]);
  assert.deepEqual([column.data, column.shape], [Int32Array.of(3, 11, 19), [3]]);
  const cell = await get(array, [5, 3]);
  assert.deepEqual([cell.data, cell.shape, cell.at()], [Int32Array.of(23), [], 23]);
});

test("unwritten cells and cells that fail a condition hold the fill value", async () => {
  const store = new MemoryStore();
  const array = await create(store, { ...plane, attrs: [{ name: "a", type: "int32", fill: -1 }] }, { at: 1 });
  await put(array, [[0, 1], [0, 1]], Int32Array.of(1, 2, 3, 4), { at: 2 });
  const now = await open(store);
  assert.deepEqual((await get(now, [slice(0, 3), slice(0, 3)])).data, Int32Array.of(1, 2, -1, 3, 4, -1, -1, -1, -1));
  assert.deepEqual((await get(now, [slice(0, 2), slice(0, 2)], { where: "a >= 3" })).data, Int32Array.of(-1, -1, 3, 4));
});

test("an array can be read as of earlier times", async () => {
  const { store, array } = await written();
  const other = await open(store);
  await put(array, [0, 0], Int32Array.of(100), { at: 10 });
  const now = await open(store);
  assert.equal((await get(now)).data[0], 100);
  assert.equal((await get(other)).data[0], 0, "writes by others do not change an open array");
  assert.equal((await get(await now.at(5))).data[0], 0);
  assert.equal((await get(await open(store, { at: new Date(9) }))).data[0], 0);
  assert.equal((await now.at([3, 20])).fragments().length, 1);
  assert.deepEqual(now.fragments().map((f) => f.end), [2, 10]);
  assert.deepEqual(now.times(), [2, 10]);
});

test("fragments with future timestamps are ignored by default", async () => {
  const { store, array } = await written();
  const later = Date.now() + 1e9;
  await put(array, [0, 0], Int32Array.of(100), { at: later });
  const first = async (options) => (await get(await open(store, options))).data[0];
  assert.equal(await first({}), 0);
  assert.equal(await first({ at: later }), 100);
  assert.equal(await first({ at: [0, Infinity] }), 100);
  const shown = async (source, path) => new Int32Array((await mount(source).readFile(path)).slice(-4).buffer)[0];
  assert.equal(await shown(store, "slices/a@0:1,0:1.npy"), 0);
  assert.equal(await shown(store, `at/${later}/slices/a@0:1,0:1.npy`), 100);
  assert.equal(await shown(await open(store, { at: [0, Infinity] }), "slices/a@0:1,0:1.npy"), 100);
});

test("a mount of an open array shows the array's time", async () => {
  const { store, array } = await written();
  await put(array, [0, 0], Int32Array.of(100), { at: 10 });
  const past = await mount(await open(store, { at: 5 })).readFile("slices/a@0:1,0:1.npy");
  assert.deepEqual(past.slice(-4), Uint8Array.of(0, 0, 0, 0));
});

test("64-bit integers are exact bigints", async () => {
  const big = BigInt64Array.of(2n ** 53n + 1n, -(2n ** 63n) + 1n);
  const schema = {
    type: "dense",
    dims: [{ name: "i", type: "int64", domain: [2n ** 60n, 2n ** 60n + 1n], tile: 2 }],
    attrs: [{ name: "v", type: "int64" }],
  };
  const { array } = await written(schema, big);
  assert.deepEqual(array.dims[0].domain, [2n ** 60n, 2n ** 60n + 1n]);
  assert.deepEqual((await get(array)).data, big);
  assert.equal((await get(array, [2n ** 60n + 1n])).at(), big[1]);
});

test("text, nulls and several values per cell can be read and written", async () => {
  const schema = {
    type: "dense",
    dims: [{ name: "i", type: "uint8", domain: [0, 2], tile: 3 }],
    attrs: [
      { name: "text", type: "string_utf8" },
      { name: "maybe", type: "float64", nullable: true },
      { name: "rgb", type: "uint8", cell: 3 },
      { name: "list", type: "int16", cell: "var" },
    ],
  };
  const data = {
    text: ["", "sea 海", "x"],
    maybe: [1.5, null, 2.5],
    rgb: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9),
    list: [Int16Array.of(1, 2), Int16Array.of(), Int16Array.of(-3)],
  };
  const { array } = await written(schema, data);
  const read = await get(array, null, { attrs: array.attrs.map(({ name }) => name) });
  assert.deepEqual([0, 1, 2].map((i) => read.text.at(i)), data.text);
  assert.deepEqual([0, 1, 2].map((i) => read.maybe.at(i)), data.maybe);
  assert.deepEqual(read.maybe.validity, Uint8Array.of(1, 0, 1));
  assert.deepEqual([read.rgb.data, read.rgb.shape, read.rgb.stride], [data.rgb, [3, 3], [3, 1]]);
  assert.deepEqual([0, 1, 2].map((i) => read.list.at(i)), data.list);
  const some = await get(array, null, { attrs: ["rgb", "text"] });
  assert.deepEqual(Object.keys(some), ["rgb", "text"]);
  // Chunks that were read can be written.
  await put(array, null, read, { at: 3 });
});

const quakes = {
  type: "sparse",
  dims: [
    { name: "lon", type: "float64", domain: [-180, 180], tile: 10 },
    { name: "lat", type: "float64", domain: [-90, 90], tile: 10 },
  ],
  attrs: [{ name: "mag", type: "float32" }, { name: "place", type: "string_utf8", nullable: true }],
};
const cells = {
  lon: Float64Array.of(10, -20.5, 30, 170),
  lat: Float64Array.of(1, 2, 3, -4),
  mag: Float32Array.of(4.5, 5, 2.25, 7),
  place: ["a", "b", null, "Fiji"],
};

test("sparse cells are read as columns", async () => {
  const { array } = await written(quakes, cells);
  assert.equal(array.kind, "sparse");
  const all = await query(array, { order: "row" }).columns();
  assert.equal(all.length, 4);
  assert.deepEqual(all.columns.lon.values, Float64Array.of(-20.5, 10, 30, 170));
  assert.deepEqual([...all.columns.place], ["b", "a", null, "Fiji"]);
  const box = await query(array, { ranges: { lon: [0, 50], lat: [0, 2] } }).columns();
  assert.deepEqual([...box.columns.mag], [4.5]);
  const { columns: strong } = await query(array, { where: "mag >= 4.5 and place != 'b'", attrs: "place", order: "row" }).columns();
  assert.deepEqual([Object.keys(strong), [...strong.place]], [["place"], ["a", "Fiji"]]);
  const { columns: some } = await query(array, { order: "row" }).columns();
  const shapeOf = (columns) => Object.entries(columns).map(([name, c]) => [name, c.type, c.cell, c.values.constructor.name, !!c.offsets, !!c.validity]);
  const none = await query(array, { where: "mag > 1000" }).columns();
  assert.deepEqual(shapeOf(none.columns), shapeOf(some));
  assert.deepEqual([none.length, ...Object.values(none.columns).map((c) => c.length)], [0, ...Object.values(some).map(() => 0)]);
  assert.deepEqual(Object.keys((await query(array, { where: "mag > 1000", attrs: ["place"] }).columns()).columns), ["place"]);
  assert.equal(await query(array, { ranges: { lon: [[-90, 0], [100, 180]] } }).count(), 2);
});

test("batches together have the cells of a single read", async () => {
  const n = 5000;
  const schema = { type: "sparse", dims: [{ name: "i", type: "int32", domain: [0, 9999], tile: 100 }], attrs: [{ name: "s", type: "string_ascii" }], capacity: 100 };
  const data = { i: Int32Array.from({ length: n }, (_, i) => i), s: Array.from({ length: n }, (_, i) => `cell ${i}`) };
  const { array } = await written(schema, data);
  let seen = 0;
  let batches = 0;
  for await (const batch of query(array, { order: "row", batchBytes: 10_000 })) {
    batches += 1;
    for (let k = 0; k < batch.length; k += 1, seen += 1) assert.equal(batch.columns.s.at(k), `cell ${batch.columns.i.at(k)}`);
  }
  assert.equal(seen, n);
  assert.ok(batches > 3, `${batches} batches`);
  const joined = await query(array, { order: "row", batchBytes: 10_000 }).columns();
  assert.deepEqual([joined.length, joined.columns.s.at(n - 1)], [n, `cell ${n - 1}`]);
});

test("a result that does not fit in memory is refused early, but can be read in batches", async () => {
  const attrs = [{ name: "a", type: "int32" }, { name: "s", type: "string_ascii", cell: "var" }];
  const side = (name) => ({ name, type: "int64", domain: [0, 2 ** 31], tile: 100 });
  const wide = await create(new MemoryStore(), { ...plane, dims: [side("y"), side("x"), side("z")], attrs }, { at: 1 });
  const refused = (e) => e.code === "LimitExceeded" && /select fewer.*read in batches/.test(e.message);
  const until = (last) => Object.fromEntries(wide.dims.map(({ name }) => [name, [0, last]]));
  // Results that are too large to count, and too large for memory: values, offsets of text, coordinates.
  for (const [ranges, asked] of [[undefined, ["a", "s"]], [until(2 ** 20), ["a", "s"]], [until(1000), "a"], [until(700), "s"], [until(700), "x"]]) {
    for (const batchBytes of [undefined, 1e6]) await assert.rejects(query(wide, { ranges, attrs: asked, batchBytes }).columns(), refused);
    await assert.rejects(get(wide, ranges, { attrs: asked }), refused);
  }
  for await (const batch of query(wide, { batchBytes: 1e6 })) {
    assert.ok(batch.length > 0 && batch.length < 1e6, `${batch.length} cells`);
    break;
  }
  const some = await query(wide, { ranges: { y: [5, 6], x: [2, 2], z: [[0, 0], [4, 4]] }, attrs: ["a", "z"] }).columns();
  assert.deepEqual([some.length, some.columns.a.length, [...some.columns.z]], [4, 4, [0n, 4n, 0n, 4n]]);
});

test("empty ranges are refused", async () => {
  const { array } = await written();
  const refused = (made, message) => assert.rejects(made, (e) => e.code === "InvalidArgument" && message.test(e.message), String(message));
  for (const [from, to] of [[3, 3], [5, 3], [0, 0]]) {
    const half = new RegExp(`^'${from}:${to}' along dimension 'y' \\(int32\\): selects nothing: ranges are half-open, so ${from}:${from + 1} selects ${from}; `);
    await refused(get(array, [slice(from, to)]), half);
    await refused(get(array, `${from}:${to}`), half);
    await refused(put(array, [slice(from, to)], counted), half);
  }
  await refused(get(array, [slice(5, 0, -1)]), /selects nothing|a step must be an integer/);
  await refused(get(array, [[5, 3]]), /dimension 'y': the range 5 to 3 is empty: its end is before its start/);
  await refused(query(array, { ranges: { y: [5, 3] } }).count(), /the range 5 to 3 is empty/);
  await refused(get(array, [[3, 9]]), /the range 3 to 9 is not inside the domain, 0 to 5/);
  await refused(put(array, [slice(3, 9)], counted), /the range 3 to 8 is not inside the domain, 0 to 5/);
  await refused(get(array, [slice(7, 9)]), /selects nothing/);
});

test("a slice past the ends of the domain is cut there", async () => {
  const { array } = await written();
  const whole = await get(array);
  for (const cut of [[slice(-3, 99)], { y: slice(99), x: slice(-1n, 99n) }, [slice(0, Infinity)]]) assert.deepEqual((await get(array, cut)).data, whole.data);
  assert.deepEqual((await get(array, [slice(4, 99), null])).shape, [2, whole.shape[1]]);
  // The steps are counted from where the slice starts, as if the domain went on.
  const line = await create(new MemoryStore(), { type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 9], tile: 5 }], attrs: [{ name: "a", type: "int32" }] }, { at: 1 });
  await put(line, null, Int32Array.from({ length: 10 }, (_, i) => i), { at: 2 });
  const cells = async (...given) => [...(await get(await line.at(5), [slice(...given)])).data];
  assert.deepEqual([await cells(-3, 8, 4), await cells(-4n, 10n, 4)], [[1, 5], [0, 4, 8]]);
  await assert.rejects(cells(-3, undefined, 100), { code: "InvalidArgument", message: /selects nothing/ });
  for (const given of [[12, undefined, 3], [10, undefined], [12, 20, 3]]) await assert.rejects(cells(...given), { code: "InvalidArgument", message: /selects nothing/ });
});

test("a query with a limit gives its first cells, however it is read", async () => {
  const n = 1000;
  const { array } = await written({ ...quakes, capacity: 10 }, {
    lon: Float64Array.from({ length: n }, (_, i) => (i * 7919) % 180), lat: Float64Array.from({ length: n }, (_, i) => i / 100),
    mag: Float32Array.from({ length: n }, (_, i) => i), place: Array.from({ length: n }, (_, i) => (i % 3 ? `place ${i}` : null)),
  });
  const all = [...(await query(array, { order: "row" }).columns()).columns.place];
  for (const limit of [0, 1, 7, 999, 1000, 5000]) {
    const some = await query(array, { order: "row", limit }).columns();
    assert.deepEqual([some.length, [...some.columns.place]], [Math.min(limit, n), all.slice(0, limit)]);
    const places = [];
    for await (const batch of query(array, { order: "row", limit, batchBytes: 500 })) places.push(...batch.columns.place);
    assert.deepEqual(places, all.slice(0, limit));
  }
  for (const limit of [-1, 2.5, NaN, null, "7"]) assert.throws(() => query(array, { limit }), { code: "InvalidArgument", message: /the option 'limit' must be a whole number or Infinity/ }, String(limit));
  const dense = await query((await written()).array, { limit: 2 }).columns();
  assert.equal(dense.length, 2);
});

test("batches are read ahead of the caller, who may leave the loop", async () => {
  const { array, store } = await written({ ...quakes, capacity: 10 }, {
    lon: Float64Array.from({ length: 500 }, (_, i) => i % 180), lat: Float64Array.from({ length: 500 }, (_, i) => i / 100),
    mag: new Float32Array(500), place: Array(500).fill("x"),
  });
  let reads = 0;
  const counting = { get: (key) => (reads += 1, store.get(key)), list: (prefix) => store.list(prefix) };
  const counted = await open(counting, { at: [0, Infinity] });
  let batches = 0;
  for await (const batch of query(counted, { batchBytes: 500 })) {
    assert.ok(batch.length > 0);
    const before = reads;
    if ((batches += 1) === 3) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (batches === 1) assert.ok(reads > before, "the next batch is read while the caller works");
  }
  const controller = new AbortController();
  const read = async () => {
    for await (const batch of query(array, { batchBytes: 500, signal: controller.signal })) controller.abort(new Error(`after ${batch.length > 0}`));
  };
  await assert.rejects(read(), /after true/);
});

test("a mount lists and reads files", async () => {
  const { store, array } = await written();
  const files = mount(array);
  const names = (await files.readDir()).map((e) => e.name);
  assert.ok(names.includes("slices") && names.includes("schema.json"), names.join());
  const npy = await files.readFile("slices/a@1:3,1:3.npy");
  assert.equal(new TextDecoder("latin1").decode(npy.subarray(1, 6)), "NUMPY");
  assert.deepEqual(new Int32Array(npy.slice(-16).buffer), Int32Array.of(5, 6, 9, 10));
  assert.deepEqual(await files.stat("slices/a@1:3,1:3.npy"), { dir: false, size: npy.length });
  assert.deepEqual(await files.readFile("slices/a@1:3,1:3.npy", { start: 1, end: 6 }), npy.slice(1, 6));
  for (const none of ["nothing", "slices/bad", "slices/nope@0:1.npy", "slices/0:1.doc", "slices/99.npy", "at/never/schema.json", "since/x"]) {
    assert.equal(await files.stat(none), undefined, none);
  }
  await assert.rejects(files.readFile("slices/bad"), (e) => e.code === "InvalidArgument" && e.message.includes("bad.npy"));
  assert.equal(JSON.parse(new TextDecoder().decode(await mount(store).readFile("schema.json"))).type, "dense");
});

test("lost or unreachable files are errors, not empty results", async () => {
  const { store } = await written(quakes, cells);
  const lost = (end) => mount(new MemoryStore([...store].filter(([key]) => !key.endsWith(end))));
  for (const end of ["__fragment_metadata.tdb", "a0.tdb"]) {
    await assert.rejects(lost(end).stat("slices/mag@0:50,0:2.csv"), (e) => e.code === "NotFound", end);
  }
  const dead = mount({ get: () => { throw new Error("gone"); }, list: (prefix) => store.list(prefix) });
  for (const path of ["slices/mag@all.csv", "slices/bad", "schema.json"]) {
    await assert.rejects(dead.stat(path), (e) => e.code === "Io" && e.message.includes("gone"), path);
  }
});

test("errors have codes and messages", async () => {
  const { store, array } = await written();
  const code = (expected) => (e) => e instanceof HyperslabError && e.code === expected && e.message.length > 10;
  await assert.rejects(open(new MemoryStore()), code("NotFound"));
  await assert.rejects(create(store, plane), code("AlreadyExists"));
  await assert.rejects(get(array, [[0, 99]]), code("InvalidArgument"));
  await assert.rejects(get(array, null, { attrs: "nope" }), code("InvalidArgument"));
  await assert.rejects(query(array, { where: "a >" }).columns(), code("InvalidArgument"));
  await assert.rejects(put(array, null, new Float32Array(24)), code("InvalidArgument"));
  await assert.rejects(put(array, null, new Int32Array(23)), code("InvalidArgument"));
  const [data] = [...store.keys()].filter((k) => k.endsWith("a0.tdb"));
  store.set(data, store.get(data).slice(0, -3));
  await assert.rejects(get(await open(store)), (e) => e instanceof HyperslabError && e.message.includes("a0.tdb"));
});

test("a key that is not 32 bytes is refused, whatever it looks like", async () => {
  const bytes = Uint8Array.from({ length: 32 }, (_, i) => i);
  const store = new MemoryStore();
  for (const key of ["correct horse battery staple abc", [...bytes], bytes.subarray(1), new Uint32Array(32)]) {
    await assert.rejects(create(store, plane, { key }), { code: "InvalidArgument", message: /a key must be a Uint8Array of 32 bytes/ });
  }
  await create(store, plane, { key: bytes, at: 1 });
  for (const key of ["x", [...bytes]]) await assert.rejects(open(store, { key }), { code: "InvalidArgument" });
  // Node's Buffers, and arrays of other frames.
  for (const key of [Buffer.from(bytes), vm.runInNewContext("Uint8Array.from({ length: 32 }, (_, i) => i)")]) assert.equal((await open(store, { key })).attrs.length, 1);
});

test("encrypted arrays need their key", async () => {
  const store = new MemoryStore();
  const key = new Uint8Array(32).fill(7);
  const array = await create(store, plane, { key });
  await put(array, null, counted);
  assert.deepEqual((await get(await open(store, { key }))).data, counted);
  await assert.rejects(open(store), (e) => e.code === "Key");
});

test("a custom store needs only a few methods", async () => {
  const { store } = await written();
  const keys = [];
  const lean = {
    get: async (key) => { keys.push(key); return store.get(key); },
    list: async function* (prefix) { yield* store.list(prefix); },
  };
  assert.deepEqual((await get(await open(lean))).data, counted);
  assert.ok(keys.length > 0);
  await assert.rejects(put(await open(lean), null, counted), (e) => e.code === "Unsupported");
});

test("a date that selects several coordinates keeps its axis", async () => {
  const days = { type: "dense", dims: [{ name: "day", type: "datetime_day", domain: ["2020-01-01", "2020-12-31"], tile: 50 }], attrs: [{ name: "a", type: "int16" }] };
  const { array } = await written(days, Int16Array.from({ length: 366 }, (_, i) => i));
  const month = await get(array, ["2020-02"]);
  assert.deepEqual([month.shape, month.data[0], month.at(28)], [[29], 31, 59]);
  assert.deepEqual([(await get(array, ["2020-02-29"])).shape, (await get(array, ["2020-02-29"])).at()], [[], 59]);
  assert.throws(() => month.at(29), RangeError);
  assert.throws(() => month.at(-1), RangeError);
});

test("variable-length text keeps its zeros", async () => {
  const line = (cell) => ({ type: "sparse", dims: [{ name: "x", type: "int32", domain: [0, 9], tile: 5 }], attrs: [{ name: "c", type: "char", cell }] });
  for (const [cell, text, shown] of [["var", "a\0\0", "a\0\0"], [3, "a\0\0", "a"]]) {
    const array = await create(new MemoryStore(), line(cell), { at: 1 });
    await put(array, null, { x: [1], c: [text] });
    assert.equal((await query(await array.at(Infinity)).columns()).columns.c.at(0), shown);
  }
});

test("invalid arguments are refused, with what to give instead", async () => {
  const { store, array } = await written();
  const refused = (work, message) => assert.rejects(work, (e) => e instanceof HyperslabError && e.code === "InvalidArgument" && message.test(e.message));
  for (const selection of [5, 5n, true, new Date()]) await refused(get(array, selection), /is not a selection; give a list such as/);
  await refused(get(array, { z: 5 }), /no dimension 'z'; the dimensions are y, x/);
  for (const at of [null, true, "2020", -1]) await refused(open(store, { at }), /invalid time/);
  await refused(put(array, null, counted, { at: Infinity }), /cannot write at the time/);
  for (const source of [undefined, 5, {}]) await refused(open(source), /give a URL or a store, not/);
  await refused(create(new MemoryStore(), { type: "dense" }), /needs the lists `dims` and `attrs`/);

  const sparse = await create(new MemoryStore(), { type: "sparse", dims: plane.dims, attrs: [{ name: "t", type: "string_utf8", cell: "var" }] });
  const cells = (t) => ({ y: [0], x: [0], t: [t] });
  for (const t of [65, true]) await refused(put(sparse, null, cells(t)), /'t' is of type string_utf8: give a string, not the/);
  await refused(put(sparse, null, cells("a\ud800")), /lone surrogate/);
  await refused(put(sparse, [[0, 1]], cells("a")), /give null as the selection/);
  for (const ranges of [{ y: 5 }, { y: null }, { y: [1] }, { y: slice(1, 2) }]) await refused(query(sparse, { ranges }).columns(), /give a range of 'y' as \[low, high\]/);
});

test("an array can be created from the schema of another", async () => {
  const { array } = await written();
  const twin = await create(new MemoryStore(), array.schema, { at: 1 });
  assert.deepEqual(twin.schema, array.schema);
});

test("fields may have the names of a column's or a chunk's properties", async () => {
  const dims = [{ name: "values", type: "int32", domain: [0, 9], tile: 5 }];
  const sparse = await create(new MemoryStore(), { type: "sparse", dims, attrs: [{ name: "v", type: "int32" }] }, { at: 1 });
  await put(sparse, null, { values: Int32Array.of(3), v: Int32Array.of(7) });
  assert.equal((await query(await sparse.at(Infinity)).columns()).columns.values.at(0), 3);
  const attrs = ["data", "shape"].map((name) => ({ name, type: "int32" }));
  const dense = await create(new MemoryStore(), { type: "dense", dims, attrs }, { at: 1 });
  await put(dense, [[0, 1]], { data: Int32Array.of(1, 2), shape: Int32Array.of(3, 4) });
  const chunks = await get(await dense.at(Infinity), [[0, 1]], { attrs: ["data", "shape"] });
  const several = { code: "InvalidArgument", message: /2 attributes; name one in `attrs`, or several as a list: \["data","shape"\]/ };
  await assert.rejects(get(dense), several);
  await assert.rejects(get(dense, "data,shape@0:2"), several);
  assert.equal((await get(await dense.at(Infinity), "shape@0:2")).at(0), 3);
  assert.deepEqual([chunks.data.data, chunks.shape.data], [Int32Array.of(1, 2), Int32Array.of(3, 4)]);
  const alone = await create(new MemoryStore(), { type: "dense", dims, attrs: [attrs[0]] }, { at: 1 });
  await put(alone, [[0, 1]], chunks.data);
  assert.deepEqual((await get(await alone.at(Infinity), [[0, 1]])).data, Int32Array.of(1, 2));
});

test("create refuses paths inside an array", async () => {
  const { store } = await written();
  await assert.rejects(create(store, plane, { path: "b", at: 1 }), { code: "InvalidArgument", message: /is inside the array at the root of the store/ });
});
