// The arrays that the documentation's examples read, as the files of https://example.org.
import { create, MemoryStore, open, put, putMeta, writeManifest } from "hyperslab";

const int = (name, last, tile) => ({ name, type: "int32", domain: [0, last], tile });
const degrees = (name, end) => ({ name, type: "float64", domain: [-end, end], tile: 10 });
const zstd = [["zstd", { level: 3 }]];

/** Makes an array with its writes, `[selection, cells, timestamp]`, and a manifest. */
async function make(store, path, schema, writes) {
  const array = await create(store, schema, { path, at: Date.parse("2018-01-01") });
  for (const [selection, cells, at] of writes) await put(array, selection, cells, { at: new Date(at) });
  await writeManifest(await array.at(Infinity));
}

/** All samples, by path. */
export async function samples() {
  const store = new MemoryStore();
  // Without noise, the cells would be so small that they fit into the manifest.
  const noise = (i) => { const mixed = Math.imul(i, 2654435761); return Math.imul(mixed ^ (mixed >>> 15), 2246822519) >>> 27; };
  const heights = (side, from = 0) => Int16Array.from({ length: side * side }, (_, i) => from + Math.round(200 + 100 * Math.sin((i % side) / 40) + Math.floor(i / side) / 4) + noise(i));
  await make(store, "arrays/elevation", {
    type: "dense", dims: [int("y", 1023, 128), int("x", 1023, 128)],
    attrs: [{ name: "elevation", type: "int16", fill: -32768, filters: ["byteshuffle", ...zstd] }],
  }, [[null, heights(1024), "2018-01-02"], [[[0, 63], [0, 63]], heights(64, 500), "2018-03-01"], [[[64, 127], [0, 63]], heights(64, 900), "2018-06-01"]]);

  // An image with two channels, and its overview.
  const halves = (side) => Uint8Array.from({ length: 2 * side * side }, (_, i) => {
    const [channel, y, x] = [Math.floor(i / (side * side)), Math.floor(i / side) % side, i % side];
    return (channel === 0 ? x : y) < side / 2 ? 200 : 0;
  });
  for (const [path, side] of [["arrays/image", 512], ["arrays/image.2", 256]]) {
    await make(store, path, { type: "dense", dims: [int("channel", 1, 1), int("y", side - 1, 128), int("x", side - 1, 128)], attrs: [{ name: "intensity", type: "uint8", filters: zstd }] }, [[null, halves(side), "2018-01-02"]]);
  }
  await putMeta(store, { overviews: JSON.stringify([{ factor: 2, factors: [1, 2, 2], path: "../image.2" }]) }, { path: "arrays/image", at: new Date("2018-01-03") });
  await writeManifest(await open(store, { path: "arrays/image" }));

  const days = 366;
  await make(store, "arrays/temperature", {
    type: "dense",
    dims: [int("day", days - 1, 61), int("y", 17, 6), int("x", 35, 12)],
    attrs: [{ name: "temperature", type: "float32", filters: zstd }],
  }, [[null, Float32Array.from({ length: days * 18 * 36 }, (_, i) => {
    const [day, y, x] = [Math.floor(i / 648), Math.floor(i / 36) % 18, i % 36];
    return Math.round(10 * (15 - y / 2 + x / 10 - 10 * Math.cos((day / days) * 2 * Math.PI))) / 10;
  }), "2018-01-02"]]);

  await make(store, "arrays/rain", {
    type: "dense", dims: [{ name: "date", type: "datetime_day", domain: ["2024-01-01", "2024-12-31"], tile: 31 }], attrs: [{ name: "rain", type: "float32" }],
  }, [[null, Float32Array.from({ length: days }, (_, i) => (i % 7) / 2), "2018-01-02"]]);

  const quakes = (lon, lat, time, mag, place) => ({
    lon: Float64Array.from(lon), lat: Float64Array.from(lat), time: BigInt64Array.from(time, (t) => BigInt(Date.parse(t))), mag: Float32Array.from(mag), place,
  });
  await make(store, "arrays/quakes", {
    type: "sparse", dims: [degrees("lon", 180), degrees("lat", 90)],
    attrs: [
      { name: "time", type: "datetime_ms" }, { name: "mag", type: "float32", nullable: true },
      { name: "place", type: "string_utf8", cell: "var", filters: zstd },
    ],
  }, [
    [null, quakes([-122.8, -116.5, -150.1, 142.4], [38.8, 33.5, 61.2, 38.3], ["2018-02-01T10:00Z", "2018-02-01T12:30Z", "2018-02-02T00:15Z", "2018-02-02T08:00Z"],
      [2.5, 3.1, 4.7, 5.2], ["The Geysers, CA", "Anza, CA", "Anchorage, Alaska", "Ishinomaki, Japan"]), "2018-02-02T12:00Z"],
    [null, quakes([-118.3, -117.7], [34.0, 35.8], ["2018-02-04T03:00Z", "2018-02-04T05:00Z"], [3.6, 2.8], ["Los Angeles, CA", "Ridgecrest, CA"]), "2018-02-04T12:00Z"],
  ]);

  // A SOMA experiment: its matrix of counts, and the table of its cells.
  const id = (name, last) => ({ name, type: "int64", domain: [0, last], tile: 100 });
  await make(store, "soma/ms/RNA/X/data", { type: "sparse", dims: [id("soma_dim_0", 999), id("soma_dim_1", 1999)], attrs: [{ name: "soma_data", type: "float32", filters: zstd }] },
    [[null, {
      soma_dim_0: BigInt64Array.from({ length: 5000 }, (_, i) => BigInt(Math.floor(i / 5))),
      soma_dim_1: BigInt64Array.from({ length: 5000 }, (_, i) => BigInt((i * 397) % 2000)),
      soma_data: Float32Array.from({ length: 5000 }, (_, i) => 1 + (i % 7)),
    }, "2018-01-02"]]);
  await make(store, "soma/obs", {
    type: "sparse", dims: [id("soma_joinid", 999)],
    enumerations: [{ name: "cell_type", type: "string_utf8", cell: "var", ordered: false, values: ["B cell", "T cell", "monocyte"] }],
    attrs: [{ name: "cell_type", type: "int8", enumeration: "cell_type" }],
  }, [[null, { soma_joinid: BigInt64Array.from({ length: 1000 }, (_, i) => BigInt(i)), cell_type: Int8Array.from({ length: 1000 }, (_, i) => i % 3) }, "2018-01-02"]]);
  return store;
}
