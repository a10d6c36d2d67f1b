// Unit tests of CF times. The expected dates come from cftime 1.6.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { cfTime } = await load("time.ts");

test("dates of the calendars of CF", () => {
  const dates = [
    [0, "days since 2000-01-01", "standard"], [1.5, "days since 2000-02-28 06:00", "proleptic_gregorian"], [1, "hours since 2000-01-01 00:00:30.5", "gregorian"],
    [-946800, "hours since 1970-01-01 00:00:00", "360_day"], [1188000, "hours since 1970-01-01 00:00:00", "360_day"], [59, "days since 2000-01-01", "360_day"],
    [59, "days since 2000-01-01", "noleap"], [-1, "days since 2000-03-01", "365_day"], [59.25, "days since 2001-01-01", "all_leap"], [366, "days since 2001-01-01", "366_day"],
    [-1, "seconds since 2000-01-01 00:00:00", "noleap"], [0, "days since 2000-01-01 00:00 +02:00", "noleap"], [-1, "days since 0001-01-01", "360_day"],
  ].map((given) => cfTime(...given));
  assert.deepEqual(dates, [
    "2000-01-01", "2000-02-29 18:00", "2000-01-01 01:00:30.500", "1860-06-01", "2107-07-01", "2000-02-30", "2000-03-01", "2000-02-28", "2001-02-29 06:00",
    "2002-01-01", "1999-12-31 23:59:59", "1999-12-31 22:00", "0000-12-30",
  ]);
});

test("invalid dates and unsupported calendars give no date", () => {
  for (const given of [[1, "K"], [1, "days since yesterday"], [1, "fortnights since 2000-01-01"], [1, "days since 2000-01-01", "julian"], [1e300, "days since 2000-01-01", "noleap"], [NaN, "days since 2000-01-01", "360_day"], [Infinity, "days since 2000-01-01"], [-1e6, "days since 2000-01-01", "standard"]]) assert.equal(cfTime(...given), undefined, given.join());
});
