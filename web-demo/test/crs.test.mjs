// Unit tests of the units of coordinate reference systems.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { unitOf, withUnit } = await load("grid/crs.ts");

const GEOGCS = `GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]]]`;
const projected = (unit, method = "Transverse_Mercator") => `PROJCS["One, of \\"two\\" zones]",${GEOGCS},PROJECTION["${method}"],PARAMETER["scale_factor",0.9996],${unit},AXIS["Easting",EAST],AUTHORITY["EPSG","32633"]]`;
const heights = `VERT_CS["NAVD88",VERT_DATUM["North American Vertical Datum 1988",2005],UNIT["metre",1]]`;
const geographic2 = `GEOGCRS["WGS 84",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]],CS[ellipsoidal,2],AXIS["latitude",north,ORDER[1],ANGLEUNIT["degree",0.0174532925199433]]]`;
const projected2 = `PROJCRS["Feet",BASEGEOGCRS["NAD83",DATUM["NAD83",ELLIPSOID["GRS 1980",6378137,298.257,LENGTHUNIT["metre",1]]]],CONVERSION["Oregon",METHOD["Lambert Conic Conformal (2SP)"],PARAMETER["Easting",1312335.958,LENGTHUNIT["foot",0.3048]]],CS[Cartesian,2],AXIS["easting (X)",east,ORDER[1],LENGTHUNIT["foot",0.3048]]]`;

test("the unit comes from the coordinates, not from a part of the system", () => {
  const units = [projected(`UNIT["metre",1,AUTHORITY["EPSG","9001"]]`), projected(`UNIT["US survey foot",0.304800609601219]`), projected(`UNIT["kilometre",1000]`), projected(`UNIT["link",0.201168]`), GEOGCS, `COMPD_CS["both",${GEOGCS},${heights}]`, `COMPD_CS["both",${projected(`UNIT["foot",0.3048]`)},${heights}]`, geographic2, projected2, heights, "", "PROJCS[[[", `"${"x".repeat(1000)}`];
  assert.deepEqual(units.map((wkt) => unitOf({ wkt })?.unit), ["m", "ft", "km", undefined, "degree", "degree", "ft", "degree", "ft", undefined, undefined, undefined, undefined]);
  assert.equal(unitOf({ code: "EPSG:32760" })?.unit, "m");
  assert.equal(unitOf({ code: "EPSG:32661" }), undefined);
  assert.equal(unitOf({ wkt: "EPSG:4326" })?.unit, "degree");
  const axis = (unit) => ({ projjson: { type: "ProjectedCRS", coordinate_system: { axis: [{ unit }] } } });
  assert.deepEqual(["metre", { type: "LinearUnit", name: "foot", conversion_factor: 0.3048 }, 7, null].map((unit) => unitOf(axis(unit))?.unit), ["m", "ft", undefined, undefined]);
  assert.equal(unitOf({ projjson: { components: [axis("metre").projjson] } })?.unit, "m");
});

test("lengths on a Mercator map differ from lengths on the ground", () => {
  assert.equal(unitOf({ wkt: projected(`UNIT["metre",1]`) }).isTrue, true);
  assert.equal(unitOf({ wkt: projected(`UNIT["metre",1]`, "Mercator_1SP") }).isTrue, false);
  assert.equal(unitOf({ code: "EPSG:3857" }).isTrue, false);
});

test("axes keep their own unit, and axes without coordinates or place get none", () => {
  const crs = { code: "EPSG:32633" };
  const axis = (more) => ({ name: "X", dimension: "X", role: "x", coordinates: { type: "regular", start: 0, step: 10 }, ...more });
  assert.deepEqual([{}, { unit: "km" }, { coordinates: { type: "index" } }, { role: "time" }].map((more) => withUnit(axis(more), crs).unit), ["m", "km", undefined, undefined]);
  assert.deepEqual(["x", "y"].map((role) => withUnit(axis({ role }), { code: "EPSG:4326" }).unit), ["degrees_east", "degrees_north"]);
  assert.equal(withUnit(axis(), undefined).unit, undefined);
});
