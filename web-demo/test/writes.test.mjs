// Groups of fragments on the strip of writes, and the fragment that a cell came from.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { GROUPS_MAX, groupsOf, groupText, nearest, originOf, originText } = await load("writes/groups.ts");

const write = (time, box, more = {}) => ({ name: `f${time}`, start: time, end: time, dense: true, cells: 10, bytes: 1000, nonEmptyDomain: box, ...more });

test("ten thousand fragments have few marks, and each is in one of them", () => {
  const many = Array.from({ length: 10_000 }, (_, i) => write(i * i, [[0, 1]]));
  const groups = groupsOf(many, 0, 9999 * 9999);
  assert.ok(groups.length <= GROUPS_MAX && groups.length > GROUPS_MAX / 2, String(groups.length));
  assert.equal(groups.reduce((sum, { cells }) => sum + cells, 0), 100_000);
  groups.forEach(({ first, last }, i) => assert.ok(first <= last && first === (groups[i - 1]?.last ?? -1) + 1));
  assert.deepEqual([groups[0].place, groups.at(-1).place, groups.at(-1).last], [0, 1, 9999]);
  assert.equal(nearest(groups, 0.51), groups.reduce((a, b) => (Math.abs(a.place - 0.51) <= Math.abs(b.place - 0.51) ? a : b)));
  assert.equal(groupsOf([write(5, [])], 5, 5)[0].place, 0.5);
});

test("a mark says what its fragments are", () => {
  const all = [write(1000, []), write(61_000, [], { start: 2000 }), write(90_000, [])];
  assert.equal(groupText(all, { first: 0, last: 0 }, 3), "Write 1 of 3: 1970-01-01 00:00:01, 10 cells, 1.0 KB");
  assert.equal(groupText(all, { first: 1, last: 1 }, 3), "Write 2 of 3, merged from several: 1970-01-01 00:00:02 to 1970-01-01 00:01:01, 10 cells, 1.0 KB");
  assert.equal(groupText(all, { first: 1, last: 2 }, 3), "2 writes of 3: 1970-01-01 00:00:02 to 1970-01-01 00:01:30, 20 cells, 2.0 KB");
});

test("a cell came from the newest fragment whose box holds it, also beyond 2^53", () => {
  const far = 2n ** 60n;
  const all = [write(1, [[far, far + 9n], [0, 9]]), write(2, [[far + 2n, far + 3n], [4, 5]]), write(3, [[far, far], [9, 9]], { dense: false }), write(4, null)];
  assert.deepEqual([[far + 2n, 4], [far + 1n, 4], [far + 4n, 5], [far, 9], [far + 10n, 0]].map((cell) => originOf(all, cell)), [1, 0, 0, 2, undefined]);
  assert.match(originText(all, all, [far + 3n, 5]), /: written at 1970-01-01 00:00:00\.002 \(write 2\)$/);
  assert.match(originText(all, all, [far, 9]), /newest write whose box contains it was made at .*003 \(write 3\)$/);
  assert.match(originText(all, all, [0n, 0]), /never written$/);
});
