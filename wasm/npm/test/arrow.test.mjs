// Arrow IPC streams, as apache-arrow and flechette read them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { tableFromIPC as flechetteTable } from "@uwdata/flechette";
import { tableFromIPC } from "apache-arrow";
import { create, get, MemoryStore, open, put, query } from "hyperslab";
import { both } from "./both.mjs";

const types = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"];
const dates = { datetime_year: "1969", datetime_month: "1968-11", datetime_week: "2020-03-05", datetime_day: "2020-03-01", datetime_hr: "2020-03-01T05", datetime_min: "2020-03-01T05:06", datetime_sec: "2020-03-01T05:06:07", datetime_ms: "2020-03-01T05:06:07.089", datetime_us: "2020-03-01T05:06:07.089001", datetime_ns: "2020-03-01T05:06:07.089001002" };
const bytesOf = async (stream) => new Uint8Array(await new Response(stream).arrayBuffer());
const value = (v) => (ArrayBuffer.isView(v) || typeof v?.toJSON === "function" ? Array.from(v) : v);

/** The columns as both libraries read them, which must be the same. */
async function columns(stream) {
  const bytes = await bytesOf(stream);
  const [one, two] = [tableFromIPC(bytes), flechetteTable(bytes, { useBigInt: true, useDate: false })];
  const of = (table, names, column) => Object.fromEntries(names.map((name) => [name, Array.from(column(name), value)]));
  const names = one.schema.fields.map(({ name }) => name);
  const apache = of(one, names, (name) => one.getChild(name));
  return { bytes, table: one, apache, flechette: of(two, two.schema.fields.map(({ name }) => name), (name) => two.getChild(name)) };
}

both("numbers, text, nulls, lists and labels", async (pool) => {
  const store = new MemoryStore();
  await create(store, {
    type: "sparse", dims: [{ name: "x", type: "int32", domain: [0, 99], tile: 10 }], capacity: 10,
    attrs: [
      ...types.map((type) => ({ name: type, type })),
      { name: "text", type: "string_utf8", cell: "var", nullable: true }, { name: "wide", type: "string_utf16", cell: "var" }, { name: "code", type: "char", cell: 3 },
      { name: "maybe", type: "float64", nullable: true }, { name: "flag", type: "bool" }, { name: "pair", type: "int16", cell: 2 }, { name: "many", type: "uint8", cell: "var" },
      { name: "blob", type: "blob", cell: "var" }, { name: "kind", type: "uint8", enumeration: "kinds" },
    ],
    enumerations: [{ name: "kinds", type: "string_utf8", values: ["wren", "grüngürtel"] }],
  }, { at: 1 });
  const array = await open(store, pool ? { pool } : {});
  const n = 30;
  const every = (make) => Array.from({ length: n }, (_, i) => make(i));
  const big = (type) => (type.endsWith("int64") ? BigInt : Number);
  const given = {
    x: every((i) => i), ...Object.fromEntries(types.map((type) => [type, every((i) => big(type)(type.startsWith("u") ? i : i - 15))])),
    text: every((i) => (i % 3 ? "é".repeat(i % 4) : null)), wide: every((i) => "😀a".slice(0, 2 + (i % 2))), code: every((i) => "abc".slice(0, i % 4)),
    maybe: every((i) => (i % 2 ? i / 4 : null)), flag: every((i) => i % 3 === 0), pair: every((i) => Int16Array.of(i, -i)), many: every((i) => new Uint8Array(i % 3).fill(i)),
    blob: every((i) => Uint8Array.of(255, i)), kind: every((i) => (i % 5 === 4 ? 9 : i % 2)),
  };
  // The index 9 has no label. Only a writer without the check can write it, so it is written as the fill value.
  await put(array, null, { ...given, kind: given.kind.map((k) => (k === 9 ? 255 : k)) }, { at: 2 }).catch(() => put(array, null, { ...given, kind: given.kind.map((k) => k % 8) }, { at: 2 }));
  const { apache, flechette, table } = await columns(query(array, { order: "row", batchBytes: 400 }).arrow());
  assert.ok(table.batches.length > 1);
  const labels = (await query(array, { order: "row" }).columns()).columns.kind;
  const decoded = await array.decoded(labels);
  for (const read of [apache, flechette]) {
    assert.deepEqual(Object.keys(read), ["x", ...array.attrs.map(({ name }) => name)]);
    for (const [name, cells] of Object.entries(given)) {
      const expected = name === "kind" ? decoded : cells.map(value);
      assert.deepEqual(read[name], expected, name);
    }
  }
  const { columns: some } = { columns: await columns(query(array, { attrs: ["text", "x"], where: "x > 27" }).arrow()) };
  assert.deepEqual(some.apache, { text: [given.text[28], given.text[29]], x: [28, 29] });
  const none = await columns(query(array, { where: "x > 1000" }).arrow());
  assert.deepEqual([none.table.numRows, Object.keys(none.apache).length], [0, given ? Object.keys(given).length : 0]);
  assert.equal((await columns(query(array, { limit: 7 }).arrow())).table.numRows, 7);
});

test("dates and times", async () => {
  const names = Object.keys(dates);
  const array = await create(new MemoryStore(), {
    type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 1], tile: 2 }],
    attrs: [...names.map((type) => ({ name: type, type })), { name: "lasts", type: "time_min" }, { name: "tiny", type: "datetime_ps" }],
  }, { at: 1 });
  const nat = -(2n ** 63n);
  await put(array, null, { ...Object.fromEntries(names.map((name) => [name, [dates[name], "1970-01-01"]])), lasts: [2n, -3n], tiny: [5n, 6n] }, { at: 2 });
  await put(array, [[1, 1]], { ...Object.fromEntries(names.map((name) => [name, [nat]])), lasts: [nat], tiny: [6n] }, { at: 3 });
  const { apache, flechette, table } = await columns(query(array).arrow());
  const typeOf = (name) => String(table.schema.fields.find((field) => field.name === name).type);
  const day = Date.UTC(2020, 2, 1);
  // Weeks are counted from Thursday, the first of January 1970. Milliseconds; flechette gives raw counts for some.
  const expected = { datetime_year: Date.UTC(1969), datetime_month: Date.UTC(1968, 10), datetime_week: Date.UTC(2020, 2, 5), datetime_day: day, datetime_hr: day + 5 * 3_600_000, datetime_min: day + 5 * 3_600_000 + 360_000, datetime_sec: day + 18_367_000, datetime_ms: day + 18_367_089 };
  for (const [name, ms] of Object.entries(expected)) {
    assert.deepEqual(apache[name], [ms, null], name);
    assert.deepEqual(flechette[name], [ms, null], name);
  }
  assert.deepEqual(["datetime_week", "datetime_hr", "datetime_us", "datetime_ns", "lasts", "tiny"].map(typeOf), ["Date32<DAY>", "Timestamp<SECOND>", "Timestamp<MICROSECOND>", "Timestamp<NANOSECOND>", "Duration<SECOND>", "Int64"]);
  assert.deepEqual([apache.lasts, flechette.lasts, apache.tiny], [[120n, null], [120n, null], [5n, 6n]]);
  assert.ok(Math.abs(apache.datetime_ns[0] - (day + 18_367_089.001002)) < 0.01 && Math.abs(flechette.datetime_us[0] - (day + 18_367_089.001)) < 0.01);
});

test("what Arrow cannot hold is refused", async () => {
  const array = await create(new MemoryStore(), {
    type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 1], tile: 2 }],
    attrs: [{ name: "year", type: "datetime_year" }, { name: "text", type: "string_ascii", cell: "var" }],
  }, { at: 1 });
  await put(array, null, { year: [10n ** 9n, 0n], text: { values: Uint8Array.of(65, 200), offsets: Uint32Array.of(0, 1, 2) } }, { at: 2 });
  const refused = (attrs, code, message) => assert.rejects(bytesOf(query(array, { attrs }).arrow()), (e) => e.code === code && message.test(e.message));
  await refused("year", "Unsupported", /'year': cell 0 is a datetime_year outside the range/);
  await refused("text", "Unsupported", /'text' has bytes that are not text/);
  await refused("nothing", "InvalidArgument", /there is no field 'nothing'/);
});

test("a stream reads as its consumer asks, and stops when it is cancelled", async () => {
  const store = new MemoryStore();
  const reads = [];
  const watched = { get: (key) => store.get(key), getRange: (key, { offset, length }) => (reads.push(key), store.get(key).subarray(offset, offset + length)), list: (prefix) => store.list(prefix) };
  const wide = await create(store, { type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 2 ** 20 - 1], tile: 2 ** 14 }], attrs: [{ name: "a", type: "int32", filters: ["zstd"] }] });
  await put(wide, null, Int32Array.from({ length: 2 ** 20 }, (_, i) => i), { at: 2 });
  const array = await open(watched);
  const data = () => reads.filter((key) => key.endsWith("a0.tdb")).length;
  const reader = query(array, { batchBytes: 2 ** 17 }).arrow().getReader();
  assert.equal(data(), 0);
  await reader.read();
  await reader.read();
  const [some] = [data(), await new Promise((resolve) => setTimeout(resolve, 20))];
  assert.ok(some > 0 && data() < 12, `${some} ${data()}`);
  await reader.cancel();
  // Cancelling aborts the batch that is read ahead.
  let stopped = 0;
  const held = {
    ...watched,
    getRange: (key, range, { signal }) => (key.endsWith("a0.tdb") && data() > 0 ? new Promise((_, fail) => signal.addEventListener("abort", () => { stopped += 1; fail(signal.reason); })) : watched.getRange(key, range)),
  };
  reads.length = 0;
  const other = query(await open(held), { batchBytes: 2 ** 17 }).arrow().getReader();
  await other.read();
  await other.read();
  await other.cancel();
  assert.ok(stopped > 0);
  const aborted = new AbortController();
  const stream = query(array, { signal: aborted.signal }).arrow();
  aborted.abort(new Error("stop"));
  await assert.rejects(bytesOf(stream), /stop/);
  assert.equal(tableFromIPC(await bytesOf(query(array).arrow())).getChild("a").get(2 ** 20 - 1), (await get(array)).data[2 ** 20 - 1]);
});

test("a read that fails midway is an error once the bytes are collected", async () => {
  const files = new MemoryStore();
  const array = await create(files, { type: "sparse", dims: [{ name: "x", type: "int32", domain: [0, 99_999], tile: 1000 }], attrs: [{ name: "a", type: "int32" }], capacity: 1000 });
  const xs = Int32Array.from({ length: 50_000 }, (_, i) => i);
  await put(array, null, { x: xs, a: xs });
  let left = Infinity;
  const failing = Object.fromEntries(["get", "list"].map((name) => [name, (...args) => {
    if (left-- <= 0) throw new Error("the network is down");
    return files[name](...args);
  }]));
  const opened = await open(failing);
  assert.equal(tableFromIPC(await bytesOf(query(opened).arrow())).numRows, 50_000);
  // Another store object has nothing in its cache.
  const other = await open({ ...failing });
  left = 4;
  await assert.rejects(bytesOf(query(other, { batchBytes: 2 ** 12 }).arrow()), /the network is down/);
});
