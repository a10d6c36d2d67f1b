// Saves the picture as PNG and its cells as GeoTIFF. rasterio reads the GeoTIFF files.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { SITE_DIR, downloaded, serve, settled, visit } from "./page.mjs";

const { create, put, putMeta, writeManifest } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const folder = mkdtempSync(join(tmpdir(), "saved-"));
let data;

before(async () => { data = await serve(folder); });
after(() => rmSync(folder, { recursive: true }));

const link = (name, more = "") => `#url=${encodeURIComponent(`${data}${name}`)}${more}`;

/** The TIFF tags and the values of a file. */
function tiff(path) {
  const script = `
import json, struct, sys, zlib
data = open(sys.argv[1], "rb").read()
order, magic, at = struct.unpack("<2sHI", data[:8])
assert (order, magic) == (b"II", 42)
sizes = {2: (1, "s"), 3: (2, "H"), 4: (4, "I"), 12: (8, "d")}
tags = {}
(count,) = struct.unpack_from("<H", data, at)
for i in range(count):
    tag, kind, number, _ = struct.unpack_from("<HHII", data, at + 2 + 12 * i)
    size, code = sizes[kind]
    start = at + 10 + 12 * i if size * number <= 4 else struct.unpack_from("<I", data, at + 10 + 12 * i)[0]
    tags[tag] = data[start:start + number - 1].decode() if kind == 2 else list(struct.unpack_from(f"<{number}{code}", data, start))
raw = b"".join(zlib.decompress(data[a:a + n]) for a, n in zip(tags[273], tags[279]))
code = {1: "BHIQ", 2: "bhiq", 3: "  fd"}[tags[339][0]][{8: 0, 16: 1, 32: 2, 64: 3}[tags[258][0]]]
del tags[273], tags[279]
values = [v if v == v else None for (v,) in struct.iter_unpack("<" + code, raw)]
print(json.dumps({"tags": tags, "values": values}))
`;
  return JSON.parse(execFileSync(process.env["HYPERSLAB_PYTHON"], ["-c", script, path], { encoding: "utf8", maxBuffer: 2 ** 27 }));
}

/** The file as rasterio reads it, if rasterio is installed. */
function rasterio(path) {
  const python = process.env["HYPERSLAB_RASTER"];
  if (!python) return undefined;
  const script = `
import json, sys, rasterio
with rasterio.open(sys.argv[1]) as ds:
    print(json.dumps({"crs": ds.crs.to_epsg() if ds.crs else None, "transform": list(ds.transform)[:6], "nodata": ds.nodata if ds.nodata == ds.nodata else None, "scale": ds.scales[0], "offset": ds.offsets[0], "unit": ds.units[0], "type": ds.dtypes[0], "values": ds.read(1).ravel().tolist()}))
`;
  return JSON.parse(execFileSync(python, ["-c", script, path], { encoding: "utf8", maxBuffer: 2 ** 27 }));
}

/** A CF variable with ascending latitudes, packed values, and cells without data. */
async function field(name, type, values) {
  const dims = [["time", 1], ["lat", 3], ["lon", 4]].map(([name, last]) => ({ name, type: "int32", domain: [0, last], tile: last + 1 }));
  const array = await create(join(folder, name), { type: "dense", dims, attrs: [{ name: "t", type }] }, { at: 1 });
  await put(array, null, values, { at: 1000 });
  const meta = { units: "K", scale_factor: { type: "float64", value: 0.5 }, add_offset: { type: "float64", value: 250 }, _FillValue: { type, value: type === "int64" ? -999n : -999 } };
  await putMeta(array, Object.fromEntries(Object.entries(meta).map(([key, value]) => [`__tiledb_attr.t.${key}`, value])), { at: 1000 });
  await writeManifest(array);
}

/** The coordinates of an axis, next to the array. */
async function axis(name, units, values) {
  const array = await create(join(folder, name), { type: "dense", dims: [{ name, type: "int32", domain: [0, values.length - 1], tile: values.length }], attrs: [{ name: `${name}_`, type: "float64" }] }, { at: 1 });
  await put(array, null, Float64Array.from(values), { at: 1000 });
  await putMeta(array, { [`__tiledb_attr.${name}_.units`]: units }, { at: 1000 });
  await writeManifest(array);
}

test("cells in view are saved as GeoTIFF with their place, packing and missing values", async () => {
  await axis("lat", "degrees_north", [10, 20, 30, 40]);
  await axis("lon", "degrees_east", [-20, -15, -10, -5, 0]);
  const cells = Int16Array.from({ length: 40 }, (_, i) => (i === 27 ? -999 : i - 30));
  await field("t", "int16", cells);
  const { page, errors } = await visit(link("t", "&@time=1"));
  await settled(page);
  await page.click("#take-away summary");
  const { path, name } = await downloaded(page, ["#take-away button", "Save GeoTIFF"]);
  assert.equal(name, "t.t.1_0-4_0-5.tif");
  const { tags, values } = tiff(path);
  // The north is at the top.
  const expected = [3, 2, 1, 0].flatMap((row) => [...cells.subarray(20 + 5 * row, 25 + 5 * row)]);
  assert.deepEqual(values, expected);
  assert.deepEqual([tags[256], tags[257], tags[33550], tags[33922]], [[5], [4], [5, 10, 0], [0, 0, 0, -22.5, 45, 0]]);
  assert.deepEqual(tags[34735].slice(4), [1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326]);
  assert.equal(tags[42113], "-999");
  const read = rasterio(path);
  if (read) assert.deepEqual(read, { crs: 4326, transform: [5, 0, -22.5, 0, -10, 45], nodata: -999, scale: 0.5, offset: 250, unit: "K", type: "int16", values: expected });
  assert.deepEqual(await errors(), []);
});

test("values of all types are saved exactly, without a place if there is none", async () => {
  const dims = [["row", 2], ["column", 699]].map(([name, last]) => ({ name, type: "int64", domain: [5, 5 + last], tile: Math.min(100, last + 1) }));
  const types = { uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, float32: Float32Array, float64: Float64Array, int64: BigInt64Array, uint64: BigUint64Array };
  for (const [type, Values] of Object.entries(types)) {
    const array = await create(join(folder, type), { type: "dense", dims, attrs: [{ name: "v", type }] }, { at: 1 });
    const cells = Values.from({ length: 2100 }, (_, i) => (type.endsWith("64") && !type.startsWith("f") ? BigInt(i) * 2n ** 40n + 1n : type.startsWith("f") ? Math.fround(i / 7) : i % 120));
    if (type === "float64") cells[5] = NaN;
    await put(array, null, cells, { at: 1000 });
    await writeManifest(array);
    const { page } = await visit(link(type));
    await page.click("#take-away summary");
    const { path } = await downloaded(page, ["#take-away button", "Save GeoTIFF"]);
    const { tags, values } = tiff(path);
    assert.deepEqual([tags[256], tags[257], tags[34735]], [[700], [3], undefined], type);
    assert.deepEqual(values.map((value) => (value === null ? null : Number(value))), Array.from(cells, (value) => (Number.isNaN(Number(value)) ? null : Number(value))), type);
    const read = type === "float64" ? undefined : rasterio(path);
    if (read) assert.deepEqual([read.type, read.crs, read.values], [type, null, Array.from(cells, Number)], type);
  }
});

test("cells without data have a value that no other cell has", async () => {
  const dims = ["y", "x"].map((name) => ({ name, type: "int32", domain: [0, 3], tile: 4 }));
  const nulls = { values: Uint8Array.from({ length: 16 }, (_, i) => (i % 2 ? 255 : 0)), validity: Uint8Array.from({ length: 16 }, (_, i) => Number(i > 2)) };
  const limited = Int16Array.from({ length: 16 }, (_, i) => (i < 3 ? 200 + i : i));
  const broken = Float32Array.from({ length: 16 }, (_, i) => (i === 0 ? -9999 : i < 3 ? NaN : i));
  const cases = [
    ["nulls", "uint8", { v: nulls }, nulls.values, {}], ["limited", "int16", limited, limited, { valid_min: 0, valid_max: 100 }], ["broken", "float32", broken, broken, { _FillValue: -9999 }],
  ];
  for (const [name, type, cells, plain, meta] of cases) {
    const array = await create(join(folder, name), { type: "dense", dims, attrs: [{ name: "v", type, nullable: name === "nulls" }] }, { at: 1 });
    await put(array, null, cells, { at: 1000 });
    await putMeta(array, Object.fromEntries(Object.entries(meta).map(([key, value]) => [`__tiledb_attr.v.${key}`, { type, value }])), { at: 1000 });
    await writeManifest(array);
    const { page } = await visit(link(name));
    await page.click("#take-away summary");
    const { path } = await downloaded(page, ["#take-away button", "Save GeoTIFF"]);
    const { tags, values } = tiff(path);
    const nodata = Number(tags[42113]);
    assert.deepEqual(values.slice(0, 3), [nodata, nodata, nodata], name);
    assert.deepEqual(values.slice(3), [...plain.subarray(3)], name);
    assert.ok(!values.slice(3).includes(nodata), name);
  }
});

test("the picture is saved with its title, legend and source", async () => {
  for (const [hash, file, least] of [["#url=data/elevation/elevation", "elevation.png", 200], ["#url=data/earthquakes/earthquakes", "earthquakes.png", 30]]) {
    const { page, errors } = await visit(hash);
    const { path, name } = await downloaded(page, "#save-picture");
    assert.equal(name, file);
    const png = readFileSync(path);
    const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
    const box = await page.locator("#picture").boundingBox();
    assert.ok(width > box.width && height > box.height + 100, `${width} × ${height}`);
    const colours = await page.evaluate(async ([encoded, width, height]) => {
      const image = await createImageBitmap(new Blob([Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0))]));
      const g = new OffscreenCanvas(width, height).getContext("2d");
      g.drawImage(image, 0, 0);
      const count = (x, y, w, h) => new Set(new Uint32Array(g.getImageData(x, y, w, h).data.buffer)).size;
      // The picture, the title above it, and the legend below it.
      return [count(20, 100, width - 40, height - 300), count(20, 20, 300, 20), count(20, height - 110, 320, 60)];
    }, [png.toString("base64"), width, height]);
    assert.ok(colours[0] > least && colours[1] > 5 && colours[2] > 60, `${name}: ${colours}`);
    assert.deepEqual(await errors(), []);
  }
});
