// Unit tests of the texts that users enter for fields.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, MemoryStore, put, query } from "../../wasm/npm/dist/node.js";
import { field, load, textColumn } from "./load.mjs";

const { conditionOf, parseCell } = await load("edit/parse.ts");
const { cellOf, draftOf, newDraft } = await load("edit/draft.ts");
const { coordinatesOf, deleteRows, deleteWhere, writeRow } = await load("edit/rows.ts");
const { fieldsOf } = await load("table/field.ts");

/** The cells of an array, by row. */
async function rowsOf(array) {
  const names = [...array.dims, ...array.attrs].map(({ name }) => name);
  const { columns, length } = await query(array).columns();
  return Array.from({ length }, (_, i) => Object.fromEntries(names.map((name) => [name, columns[name].at(i)])));
}

test("entered text becomes a cell of the field's type, or an error that says what to enter", () => {
  const cases = [
    [field("a", "integer"), "-7", -7], [field("a", "integer", { type: "uint64" }), "18446744073709551615", 2n ** 64n - 1n],
    [field("a", "float"), " 1e3 ", 1000], [field("a", "float"), "NaN", NaN], [field("a", "bool"), "TRUE", 1], [field("a", "text"), " x ", " x "],
    [field("a", "text", { nullable: true }), "", null], [field("a", "date", { type: "datetime_day" }), "2020-01-02", "2020-01-02"], [field("a", "date", { type: "time_ns" }), "-5", -5n],
    [field("a", "category", { labels: textColumn(["owl", "cat"]) }), "cat", "cat"], [field("a", "bytes", { type: "blob" }), "0x00fF", Uint8Array.of(0, 255)], [field("a", "list", { type: "int16" }), "[1, -2]", [1, -2]],
  ];
  for (const [of, text, cell] of cases) assert.deepEqual(parseCell(of, text), cell, `${of.type} ${text}`);
  const wrong = [[field("a", "integer"), ""], [field("a", "integer", { type: "int8" }), "128"], [field("a", "integer"), "1.5"], [field("a", "float"), "x"], [field("a", "bool"), "2"], [field("a", "category", { labels: textColumn(["owl"]) }), "dog"], [field("a", "bytes", { type: "blob" }), "0x1"], [field("a", "list", { type: "int8" }), "[300]"]];
  for (const [of, text] of wrong) assert.throws(() => parseCell(of, text), /^Error: a: '.*' does not fit\. Enter /, `${of.type} ${text}`);
});

test("a row is found by its exact coordinates", () => {
  const dims = [field("x", "float", { type: "float32" }), field("odd name", "integer", { type: "int64" }), field("day", "date", { type: "datetime_day" }), field("word", "text")];
  assert.equal(conditionOf(dims, [Math.fround(2.1), 2n ** 60n, 18262n, "it's"]), "x == 2.1 and `odd name` == 1152921504606846976 and day == 18262 and word == 'it''s'");
});

for (const [unit, ticks] of [["sec", 1n], ["ms", 1000n], ["ns", 10n ** 9n]]) {
  test(`deleting a datetime_${unit} keeps other rows of the same minute and second`, async () => {
    const minute = 1_577_873_100n * ticks;
    const times = [minute, minute + 1n, minute + 30n * ticks, minute - 1n];
    const array = await create(new MemoryStore(), { type: "sparse", dims: [{ name: "t", type: `datetime_${unit}`, domain: [0n, 2n ** 62n], tile: 10n ** 12n }], attrs: [{ name: "v", type: "int32" }] });
    await put(array, null, { t: BigInt64Array.from(times), v: Int32Array.of(0, 1, 2, 3) });
    await deleteRows(array, await fieldsOf(array), [[minute]]);
    assert.deepEqual((await rowsOf(array)).map(({ v }) => v).sort(), [1, 2, 3]);
  });
}

test("rows of an array with duplicates are neither changed nor deleted alone", async () => {
  const array = await create(new MemoryStore(), { type: "sparse", allowsDups: true, dims: [{ name: "id", type: "int32", domain: [0, 9], tile: 10 }], attrs: [{ name: "v", type: "int32" }] });
  await put(array, null, { id: Int32Array.of(1, 1, 2), v: Int32Array.of(1, 2, 3) });
  const fields = await fieldsOf(array);
  const values = async () => (await rowsOf(array)).map(({ v }) => v).sort();
  const draft = draftOf(fields, (name) => ({ id: 1, v: 1 })[name]);
  await assert.rejects(writeRow(array, draft, new Map(draft.texts).set("v", "9")), /several cells at the same coordinates/);
  await assert.rejects(deleteRows(array, fields, [[1]]), /several cells at the same coordinates/);
  assert.deepEqual(await values(), [1, 2, 3]);
  await writeRow(array, newDraft(fields), new Map([["id", "1"], ["v", "4"]]));
  await deleteWhere(array, "v == 2");
  assert.deepEqual(await values(), [1, 3, 4]);
});

test("a row that somebody else has changed or deleted since is not written", async () => {
  const array = await create(new MemoryStore(), { type: "sparse", dims: [{ name: "id", type: "int32", domain: [0, 9], tile: 10 }], attrs: [{ name: "a", type: "int32" }, { name: "pair", type: "int16", cell: 2 }] });
  const cells = (a, pair) => ({ id: Int32Array.of(7), a: Int32Array.of(a), pair: [Int16Array.from(pair)] });
  const draft = draftOf(await fieldsOf(array), (name) => ({ id: 7, a: 1, pair: Int16Array.of(1, 2) })[name]);
  const write = () => writeRow(array, draft, new Map(draft.texts).set("a", "5"));
  await put(array, null, cells(1, [1, 3]));
  await assert.rejects(write(), /Somebody else has changed or deleted this row/);
  await deleteWhere(array, "id == 7");
  await assert.rejects(write(), /Somebody else has changed or deleted this row/);
  assert.deepEqual(await rowsOf(array), []);
  await put(array, null, cells(1, [1, 2]));
  await write();
  assert.deepEqual((await rowsOf(array)).map(({ a }) => a), [5]);
});

test("a row that is written keeps the stored values of fields that were not changed", async () => {
  const array = await create(new MemoryStore(), {
    type: "sparse", dims: [{ name: "id", type: "float32", domain: [0, 10], tile: 5 }],
    attrs: [
      { name: "note", type: "string_utf8", cell: "var", nullable: true }, { name: "lines", type: "string_utf8", cell: "var" }, { name: "seen", type: "datetime_ns" }, { name: "far", type: "datetime_day" },
      { name: "mass", type: "float32" }, { name: "kind", type: "uint8", enumeration: "kinds" }, { name: "flag", type: "bool" }, { name: "raw", type: "blob", cell: "var" }, { name: "pair", type: "int16", cell: 2 }, { name: "none", type: "int32", nullable: true }, { name: "v", type: "int32" },
    ],
    enumerations: [{ name: "kinds", type: "float32", values: [0.1, 0.2] }],
  });
  const row = { id: Math.fround(2.1), note: "", lines: "a\r\nb ", seen: -(2n ** 63n), far: 4_000_000_000n, mass: Math.fround(1 / 3), kind: 1, flag: true, raw: Uint8Array.of(0, 255), pair: Int16Array.of(-1, 2), none: null, v: 1 };
  await put(array, null, Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, [cell]])));
  assert.deepEqual(await rowsOf(array), [row]);
  const draft = draftOf(await fieldsOf(array), (name) => row[name]);
  await writeRow(array, draft, new Map(draft.texts).set("v", "2"));
  assert.deepEqual(await rowsOf(array), [{ ...row, v: 2 }]);
  assert.throws(() => draftOf(draft.fields, () => undefined), /was not read/);
  const broken = draftOf([field("note", "text")], () => "a\uFFFD");
  assert.throws(() => cellOf(broken, broken.fields[0], broken.texts), /cannot be written again unchanged/);
});

test("no rows are read if too many are to be deleted", async () => {
  const array = { dims: [{ name: "id" }] };
  const load = async (row) => () => row;
  assert.deepEqual(await coordinatesOf(array, [[2, 3], [7, 7]], load), [[2], [3], [7]]);
  await assert.rejects(coordinatesOf(array, [[0, 500]], () => assert.fail("read")), /501 rows are selected; at most 500/);
});
