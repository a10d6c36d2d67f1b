// The parts of tables that need no page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column, field, load, textColumn } from "./load.mjs";

const { cellText, exactNumber, exportedText, line } = await load("table/cells.ts");
const { complete, quotedName } = await load("table/complete.ts");
const { joined } = await load("table/joined.ts");
const { runsOf, runsOfSorted } = await load("table/keyed.ts");
const { sameCell } = await load("table/matched.ts");
const { orderOf } = await load("table/order.ts");
const { Scroller, ROW_PX } = await load("table/scroll.ts");
const selection = await load("table/selection.ts");

const species = textColumn(["owl", "cat", "bat's"]);
const FIELDS = [field("mag", "float"), field("place", "text", { nullable: true }), field("species", "category", { labels: species }), field("ok", "bool"), field("odd name", "integer")];
/** The labels that are offered where `|` is. */
function offered(text) {
  const caret = text.indexOf("|");
  return complete(text.replace("|", ""), caret, FIELDS).options.map(({ label }) => label);
}
/** The condition after the first option was taken. */
function completed(text) {
  const caret = text.indexOf("|");
  const plain = text.replace("|", "");
  const { from, to, options } = complete(plain, caret, FIELDS);
  return plain.slice(0, from) + options[0].insert + plain.slice(to);
}

test("a condition is completed by names, operators, values and words between tests", () => {
  assert.deepEqual(offered("|"), ["mag", "place", "species", "ok", "odd name", "not"]);
  assert.deepEqual(offered("p|"), ["place", "species"]);
  assert.deepEqual(offered("mag |"), ["==", "!=", "<", "<=", ">", ">=", "in (", "between", "not"]);
  assert.ok(offered("place |").includes("like") && offered("place |").includes("is null"));
  assert.deepEqual(offered("species == |"), ["owl", "cat", "bat's"]);
  assert.deepEqual(offered("species in ('owl', '|"), ["owl", "cat", "bat's"]);
  assert.deepEqual(offered("ok == |"), ["true", "false"]);
  assert.deepEqual(offered("mag >= 4.5 |"), ["and", "or"]);
  assert.deepEqual(offered("mag >= |"), []);
  assert.deepEqual(offered("(mag > 1 or sp|"), ["species"]);
  assert.deepEqual(offered("place is |"), ["null", "not null"]);
  assert.deepEqual(offered("species not in (|"), ["owl", "cat", "bat's"]);
});

test("a completion replaces the word that is typed, and quotes what needs it", () => {
  assert.equal(completed("m|"), "mag ");
  assert.equal(completed("odd|"), "`odd name` ");
  assert.equal(completed("species == 'ba|"), "species == 'bat''s' ");
  assert.equal(completed("mag > 1 a|"), "mag > 1 and ");
  assert.equal(completed("pl|a > 3"), "place > 3");
  assert.equal(quotedName("and"), "`and`");
  assert.equal(quotedName("a`b"), "`a``b`");
});

test("rows are sorted with nulls, NaN and missing labels last", () => {
  const order = (...given) => [...orderOf(...given)];
  assert.deepEqual(order(field("a", "float"), column(Float64Array.of(3, NaN, -1, 2)), false), [2, 3, 0, 1]);
  assert.deepEqual(order(field("a", "float"), column(Float64Array.of(3, NaN, -1, 2)), true), [0, 3, 2, 1]);
  assert.deepEqual(order(field("a", "integer"), column(BigInt64Array.of(2n ** 62n, 2n ** 62n + 1n, 5n), Uint8Array.of(1, 1, 0)), true), [1, 0, 2]);
  assert.deepEqual(order(field("a", "date"), column(BigInt64Array.of(7n, -(2n ** 63n), 3n)), false), [2, 0, 1]);
  assert.deepEqual(order(field("a", "text"), textColumn(["b", "", "ä", "ba", "b"]), false), [1, 0, 4, 3, 2]);
  // Categories have the order of their enumeration, and equal ones that of the rows.
  assert.deepEqual(order(field("a", "category", { labels: species }), column(Int32Array.of(2, 0, -1, 0, 9)), false), [1, 3, 0, 2, 4]);
});

test("batches are joined", () => {
  const found = joined([textColumn(["a", "bc"]), textColumn([]), textColumn(["", "def"])]);
  assert.deepEqual([...found.offsets], [0, 1, 3, 3, 6]);
  assert.equal(Buffer.from(found.values).toString(), "abcdef");
  assert.deepEqual([...joined([column(Int32Array.of(1), Uint8Array.of(0)), column(Int32Array.of(2, 3), Uint8Array.of(1, 1))]).validity], [0, 1, 1]);
});

test("cells are compared byte by byte", () => {
  const same = sameCell(textColumn(["a", "b", "cc"], Uint8Array.of(1, 0, 1)), textColumn(["a", "b", "cd"], Uint8Array.of(1, 1, 1)));
  assert.deepEqual([0, 1, 2].map(same), [true, false, false]);
  assert.equal(sameCell(column(Float64Array.of(NaN)), column(Float64Array.of(NaN)))(0), true);
});

test("keys become ranges", () => {
  assert.deepEqual(runsOf([5, 3, 4n, 9]), [[3n, 5n], [9n, 9n]]);
  assert.deepEqual(runsOf([]), []);
  // An endless list is left when there are too many runs.
  const endless = function* () { for (let key = 0; ; key += 2) yield key; };
  assert.deepEqual(runsOfSorted(endless(), 2), [[0n, 0n], [2n, 2n], [4n, 4n]]);
});

test("cells are shown exactly", () => {
  assert.equal(exactNumber(Math.fround(0.1), "float32"), "0.1");
  assert.equal(exactNumber(Math.fround(16777217.3), "float32"), "16777218");
  assert.equal(exactNumber(2n ** 63n - 1n, "int64"), "9223372036854775807");
  assert.equal(cellText(field("a", "float"), 0.1 + 0.2), "0.30000000000000004");
  assert.equal(cellText(field("a", "date", { type: "datetime_ns" }), 1578096000000000001n), "2020-01-04 00:00:00.000000001");
  assert.equal(cellText(field("a", "list", { type: "int16" }), Int16Array.of(1, -2)), "[1, -2]");
  assert.equal(cellText(field("a", "bytes"), Uint8Array.of(0, 255)), "0x00ff");
  assert.equal(cellText(field("a", "text"), null), "null");
  assert.equal(cellText(field("a", "text"), "x".repeat(400)).length, 300);
});

test("exported cells are exact, and quoted where a reader needs it", () => {
  assert.equal(exportedText(field("a", "date", { type: "datetime_day" }), 18262n), "2020-01-01");
  assert.equal(exportedText(field("a", "date", { type: "datetime_s" }), -(2n ** 63n)), "");
  assert.equal(exportedText(field("a", "text"), null), "");
  assert.equal(exportedText(field("a", "list", { type: "uint8" }), new Uint8Array(30)), `[${Array(30).fill(0).join(", ")}]`);
  assert.equal(line(["a,b", 'say "hi"', "two\nlines", "x"], ","), '"a,b","say ""hi""","two\nlines",x\r\n');
  assert.equal(line(["a,b", "tab\there"], "\t"), 'a,b\t"tab\there"\r\n');
});

test("rows are selected one by one and in ranges", () => {
  let now = selection.only(3);
  now = selection.extended(now, 5);
  assert.deepEqual(now.ranges, [[3, 5]]);
  now = selection.toggled(now, 4);
  assert.deepEqual(now.ranges, [[3, 3], [5, 5]]);
  now = selection.toggled(selection.toggled(now, 4), 9);
  assert.deepEqual(now.ranges, [[3, 5], [9, 9]]);
  assert.equal(selection.countOf(now), 4);
  assert.deepEqual([2, 3, 9].map((row) => selection.isSelected(now, row)), [false, true, true]);
});

test("a scrollbar reaches each row, also if all rows are higher than an element can be", () => {
  const few = new Scroller(1000, 260);
  few.moveBar(26 * 500);
  assert.equal(few.top, 500);
  const many = new Scroller(10_000_000, 260);
  assert.ok(many.spacer < 17_000_000);
  many.moveBar(many.spacer - 260);
  assert.equal(many.top, many.last);
  many.moveTo(5_000_000);
  many.settle(many.barTop);
  // A turn of the wheel moves by its pixels, not by its part of the scrollbar.
  many.moveBar(many.barTop + 52);
  assert.equal(many.top, 5_000_002);
  many.moveBar(0);
  assert.equal(many.top, 0);
});

test("a row that is not visible is scrolled to, by as little as possible", () => {
  const scroller = new Scroller(100, ROW_PX * 10);
  scroller.show(5);
  assert.equal(scroller.top, 0);
  scroller.show(10);
  assert.equal(scroller.top, 1);
  scroller.show(0);
  assert.equal(scroller.top, 0);
});
