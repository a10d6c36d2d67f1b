// The page of deck.test.mjs: draws layers, and returns pixels. Each scenario makes its own arrays.
import { Deck, MapView, OrthographicView } from "@deck.gl/core";
import { create, get, levels, MemoryStore, open, put, putMeta } from "hyperslab";
import { ArrayLayer, arrayProps, colormap, QueryLayer } from "hyperslab/deck";

/** Creates a dense array, and writes `cells` into all of it. `dims` are `[name, first, last, tile]`. */
async function dense(dims, attr, cells, store = new MemoryStore(), path = "") {
  const array = await create(store, { type: "dense", dims: dims.map(([name, first, last, tile]) => ({ name, type: "int32", domain: [first, last], tile })), attrs: [{ name: "v", ...attr }] }, { path });
  await put(array, null, cells);
  return array;
}

/** The pixels of a canvas, as `at(x, y)`. */
function pixelsOf(canvas) {
  const context = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height }).getContext("2d");
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  return (x, y) => [...data.subarray((y * canvas.width + x) * 4, (y * canvas.width + x) * 4 + 4)];
}

const frame = () => new Promise((done) => requestAnimationFrame(done));

/** Bytes of values that were sent to the GPU. Uniforms and colour maps are smaller. */
let uploaded = 0;
for (const name of ["bufferData", "bufferSubData", "texSubImage2D", "texImage2D"]) {
  const send = WebGL2RenderingContext.prototype[name];
  WebGL2RenderingContext.prototype[name] = function (...args) {
    const { byteLength = 0 } = args.find((arg) => ArrayBuffer.isView(arg)) ?? {};
    if (byteLength > 2048) uploaded += byteLength;
    return send.apply(this, args);
  };
}

/** A deck that draws cells as pixels. */
class Stage {
  constructor({ width = 64, height = 64, view = new OrthographicView({ flipY: true }), state = { target: [width / 2, height / 2, 0], zoom: 0 } } = {}) {
    const canvas = Object.assign(document.createElement("canvas"), { style: `width: ${width}px; height: ${height}px` });
    document.body.append(canvas);
    this.failures = [];
    this.canvas = canvas;
    this.deck = new Deck({ canvas, width, height, views: view, viewState: state, useDevicePixels: false, layers: [], onError: (error) => this.failures.push(error.message) });
  }

  /** The layer of an id, as deck.gl shows it now. */
  layer(id = "cells") {
    return this.deck.layerManager?.getLayers().find((layer) => layer.id === id);
  }

  /** Shows layers, and returns their pixels once everything has come. */
  async show(...layers) {
    this.deck.setProps({ layers });
    return this.settled();
  }

  async settled() {
    for (let frames = 0; frames < 600; frames += 1) {
      await frame();
      const all = this.deck.layerManager?.getLayers() ?? [];
      if (this.failures.length > 0) throw new Error(this.failures.join("; "));
      if (frames > 3 && this.deck.isInitialized && this.deck.props.layers.every(({ id }) => this.layer(id)) && all.every((layer) => layer.isLoaded)) break;
    }
    return this.pixels();
  }

  pixels() {
    this.deck.redraw("test");
    return pixelsOf(this.canvas);
  }

  end() {
    this.deck.finalize();
    this.canvas.remove();
  }
}

const gray = (value, low, high) => Math.min(255, Math.max(0, Math.floor(((value - low) / (high - low)) * 256)));

/** Differences between pixels and expected grays (`null`: transparent), as texts. */
function differences(at, width, height, expected) {
  const found = [];
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const [red, green, blue, alpha] = at(x, y);
      const value = expected(x, y);
      const isRight = value === null ? alpha === 0 : alpha === 255 && Math.abs(red - value) <= 1 && red === green && green === blue;
      if (!isRight && found.length < 8) found.push(`${x},${y}: ${[red, green, blue, alpha]} instead of ${value}`);
    }
  }
  return found;
}

const layer = (props) => new ArrayLayer({ id: "cells", colormap: "gray", ...props });

export const scenarios = {
  /** A plane of 300 by 200 cells in tiles that do not divide it, with null, NaN and fill values. */
  async cells() {
    const cells = Float32Array.from({ length: 60_000 }, (_, i) => (i % 7 === 0 ? NaN : i % 11 === 0 ? -9999 : (i * 37) % 500));
    const array = await dense([["y", 10, 209, 96], ["x", -5, 294, 130]], { type: "float32", fill: -9999 }, cells);
    const { data } = await get(array);
    const stage = new Stage({ width: 320, height: 220 });
    const at = await stage.show(layer({ levels: array, range: [0, 500] }));
    const found = differences(at, 320, 220, (x, y) => {
      const value = data[y * 300 + x];
      return x >= 300 || y >= 200 || Number.isNaN(value) || value === -9999 ? null : gray(value, 0, 500);
    });
    stage.end();
    return found;
  },

  /** Levels with factors of 3 along x and 2 along y, which do not divide the array's 100 by 50 cells. */
  async levels() {
    const store = new MemoryStore();
    const fine = Float32Array.from({ length: 5000 }, (_, i) => i % 100);
    await dense([["y", 0, 49, 10], ["x", 0, 99, 10]], { type: "float32" }, fine, store, "fine");
    const coarse = Float32Array.from({ length: 34 * 25 }, (_, i) => 200 + (i % 34));
    await dense([["y", 0, 24, 10], ["x", 0, 33, 10]], { type: "float32" }, coarse, store, "coarse");
    await putMeta(await open(store, { path: "fine" }), { overviews: JSON.stringify([{ factor: 3, factors: [2, 3], path: "../coarse" }]) });
    const pyramid = await levels(store, { path: "fine" });
    const views = [];
    const props = { levels: pyramid, range: [0, 256], onView: (view) => views.push(view), pickable: true };
    // A pixel is 4 cells: the coarse level.
    const far = new Stage({ width: 40, height: 20, state: { target: [50, 25, 0], zoom: -2 } });
    const at = await far.show(layer(props));
    const found = { factors: pyramid.map(({ factors }) => factors), coarse: [2, 12, 26].map((x) => at(x, 10)), outside: at(0, 0), drawn: views.map(({ level, factors }) => [level, factors]) };
    const { value, factor, factors, coordinates } = far.layer().cellAt([99.5, 49.5]);
    found.picked = { value, factor, factors, coordinates };
    far.end();
    const near = new Stage({ width: 120, height: 60, state: { target: [60, 30, 0], zoom: 0 } });
    const fineAt = await near.show(layer(props));
    found.fine = differences(fineAt, 120, 60, (x, y) => (x < 100 && y < 50 ? gray(x, 0, 256) : null));
    near.end();
    return found;
  },

  /** The same cells with other ranges, scales and colours, without a read. */
  async colours() {
    const array = await dense([["y", 0, 3, 4], ["x", 0, 3, 4]], { type: "float64" }, Float64Array.from({ length: 16 }, (_, i) => 10 ** (i % 4)));
    const stage = new Stage({ width: 4, height: 4 });
    let reads = 0;
    const { store } = array;
    const own = await open({ list: (prefix) => store.list(prefix), get: (key) => { reads += 1; return store.get(key); } });
    const row = async (props) => { const at = await stage.show(layer({ levels: own, ...props })); return [0, 1, 2, 3].map((x) => at(x, 2)); };
    const found = { linear: await row({ range: [0, 1000] }) };
    const before = reads;
    found.log = await row({ range: [1, 1000], scale: "log" });
    found.packed = await row({ range: [-1, 99], decode: { scale: 0.1, offset: -1 } });
    found.category = await row({ scale: "category", colormap: Uint8Array.of(255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255) });
    found.viridis = await row({ range: [1, 1000], colormap: "viridis" });
    found.ends = [...colormap("viridis").slice(0, 4), ...colormap("viridis").slice(-4)];
    found.flat = await row({ range: [5, 5] });
    found.reads = reads - before;
    stage.end();
    return found;
  },

  /** Channels along an axis, added; and three bands as they are. */
  async channels() {
    const cells = Uint8Array.from({ length: 3 * 16 }, (_, i) => (i < 16 ? 100 : i < 32 ? 50 : 200));
    const array = await dense([["band", 0, 2, 3], ["y", 0, 3, 4], ["x", 0, 3, 4]], { type: "uint8" }, cells);
    const stage = new Stage({ width: 4, height: 4 });
    const rgb = (await stage.show(layer({ levels: array, rgb: true })))(1, 1);
    const channels = [{ axis: "band", index: 0, color: [255, 0, 0], range: [0, 200] }, { axis: "band", index: 2, color: [255, 255, 255], range: [0, 400] }];
    const added = (await stage.show(layer({ levels: array, channels, pickable: true })))(1, 1);
    const { values, coordinates } = stage.layer().cellAt([1.5, 2.5]);
    stage.end();
    return { rgb, added, values, coordinates };
  },

  /** Channels that are far apart: how much is read of the array, and the colour of a pixel. */
  async farChannels() {
    const [bands, side] = [40, 256];
    let read = 0;
    const store = Object.assign(new MemoryStore(), {
      getRange(key, { offset, length }) {
        const bytes = this.get(key)?.slice(offset, offset + length);
        read += bytes?.length ?? 0;
        return bytes;
      },
    });
    const cells = Uint8Array.from({ length: bands * side * side }, (_, i) => 5 * Math.floor(i / side / side));
    const array = await dense([["band", 0, bands - 1, 1], ["y", 0, side - 1, side], ["x", 0, side - 1, side]], { type: "uint8" }, cells, store);
    const stage = new Stage({ width: 4, height: 4 });
    read = 0;
    const channels = [[0, [255, 0, 0]], [1, [0, 255, 0]], [39, [0, 0, 255]]].map(([index, color]) => ({ axis: "band", index, color, range: [-55, 200] }));
    const color = (await stage.show(layer({ levels: array, channels })))(1, 1);
    stage.end();
    return { color, planes: read / side / side };
  },

  /** Cells of several values, and an array whose x axis comes first. */
  async layouts() {
    const stage = new Stage({ width: 4, height: 3 });
    const pixels = await dense([["y", 0, 2, 2], ["x", 0, 3, 3]], { type: "uint8", cell: 3 }, Uint8Array.from({ length: 36 }, (_, i) => 7 * i));
    const rgb = (await stage.show(layer({ levels: pixels, rgb: true })))(1, 2);
    const turned = await dense([["x", 0, 3, 3], ["y", 0, 2, 2]], { type: "int16" }, Int16Array.from({ length: 12 }, (_, i) => 20 * i));
    const at = await stage.show(layer({ levels: turned, x: "x", y: "y", range: [0, 256] }));
    const found = { rgb, turned: differences(at, 4, 3, (x, y) => 20 * (3 * x + y)) };
    const line = await dense([["x", 0, 3, 3]], { type: "int64" }, BigInt64Array.of(0n, 64n, 128n, 192n));
    const strip = await stage.show(layer({ levels: line, range: [0, 256], place: [1, 0, 0, 0, 3, 0] }));
    found.line = differences(strip, 4, 3, (x) => 64 * x);
    stage.end();
    return found;
  },

  /** A place that goes upwards, with cells of 2 by 3 units; and degrees on a map, from 0 to 360. */
  async places() {
    const array = await dense([["y", 0, 2, 2], ["x", 0, 3, 3]], { type: "uint8" }, Uint8Array.from({ length: 12 }, (_, i) => 20 * i));
    const up = new Stage({ width: 8, height: 9, state: { target: [104, 204.5, 0], zoom: 0 }, view: new OrthographicView({ flipY: false }) });
    const place = [2, 0, 100, 0, 3, 200];
    const at = await up.show(layer({ levels: array, range: [0, 256], place }));
    const found = { up: differences(at, 8, 9, (x, y) => 20 * (4 * (2 - Math.floor(y / 3)) + Math.floor(x / 2))), picked: up.layer().cellAt([107, 201]).position };
    up.end();
    const world = await dense([["lat", 0, 17, 5], ["lon", 0, 35, 7]], { type: "int16" }, Int16Array.from({ length: 18 * 36 }, (_, i) => i));
    const map = new Stage({ width: 512, height: 512, view: new MapView(), state: { longitude: 0, latitude: 0, zoom: 0 } });
    const seen = await map.show(layer({ levels: world, range: [0, 648], place: [10, 0, 0, 0, -10, 90] }));
    const viewport = map.deck.getViewports()[0];
    found.map = [];
    for (const [lon, lat] of [[5, 5], [-5, 45], [175, -65], [-175, 75], [95, 0.1], [95, -0.1], [-95, 30.5], [-95, 29.5]]) {
      const [x, y] = viewport.project([lon, lat]).map(Math.floor);
      const cell = Math.floor((90 - lat) / 10) * 36 + Math.floor(((lon + 360) % 360) / 10);
      found.map.push([seen(x, y)[0] - gray(cell, 0, 648), map.layer().cellAt([lon, lat]).value - cell]);
    }
    map.end();
    return found;
  },

  /** Picks through deck.gl, also a cell without a value, and a 64-bit integer that a double would round. */
  async picking() {
    const big = 2n ** 60n + 1n;
    const array = await dense([["t", 7, 8, 1], ["y", 10, 13, 2], ["x", 20, 23, 2]], { type: "int64", fill: -1n }, BigInt64Array.from({ length: 32 }, (_, i) => (i === 16 + 5 ? -1n : big + BigInt(i))));
    const stage = new Stage({ width: 40, height: 40, state: { target: [2, 2, 0], zoom: Math.log2(10) } });
    await stage.show(layer({ levels: array, at: { t: 8 }, range: [0, Number(big) * 2], pickable: true }));
    const pick = async (x, y) => { const found = await stage.deck.pickObjectAsync({ x, y }); return found && [JSON.stringify(found.object.coordinates), String(found.object.value)]; };
    const found = [await pick(35, 5), await pick(15, 15)];
    stage.end();
    return found;
  },

  /** Two times: the old picture stays until the new one has come, and reads of former times are aborted. */
  async times() {
    const store = new MemoryStore();
    const schema = { type: "dense", dims: ["y", "x"].map((name) => ({ name, type: "int32", domain: [0, 255], tile: 128 })), attrs: [{ name: "v", type: "uint8" }] };
    const first = await create(store, schema, { at: 1 });
    for (const [at, value] of [[10, 50], [20, 100], [30, 150]]) await put(first, null, new Uint8Array(65536).fill(value), { at });
    let [held, waiting, aborted] = [false, [], 0];
    const slow = {
      list: (prefix) => store.list(prefix),
      get: async (key, { signal } = {}) => {
        if (held) await new Promise((go, fail) => {
          waiting.push(go);
          signal?.addEventListener("abort", () => { aborted += 1; fail(signal.reason); });
        });
        return store.get(key);
      },
    };
    const array = await open(slow);
    const [ten, twenty, thirty] = await Promise.all([10, 20, 30].map((at) => array.at(at)));
    const busy = [];
    const props = (levels) => layer({ levels, range: [0, 256], onBusy: (count) => busy.push(count) });
    const stage = new Stage({ width: 256, height: 256 });
    const found = { first: (await stage.show(props(ten)))(9, 9)[0] };
    held = true;
    stage.deck.setProps({ layers: [props(twenty)] });
    for (let i = 0; i < 20; i += 1) await frame();
    found.meanwhile = stage.pixels()(9, 9)[0];
    found.waiting = waiting.length > 0;
    stage.deck.setProps({ layers: [props(thirty)] });
    for (let i = 0; i < 20; i += 1) await frame();
    found.aborted = aborted > 0;
    found.still = stage.pixels()(9, 9)[0];
    held = false;
    waiting.forEach((go) => go());
    found.last = (await stage.settled())(9, 9)[0];
    found.busy = [Math.max(...busy), busy.at(-1)];
    stage.end();
    return found;
  },

  /** Tiles that cannot be read are told once each, and do not stop the others. */
  async failures() {
    const array = await dense([["y", 0, 127, 128], ["x", 0, 255, 128]], { type: "uint8" }, new Uint8Array(32768).fill(9));
    const { store } = array;
    let isBroken = false;
    const own = await open({ list: (prefix) => store.list(prefix), get: (key) => { if (isBroken) throw new Error("the disk is on fire"); return store.get(key); } });
    const stage = new Stage({ width: 256, height: 128 });
    const said = [];
    const props = (more) => layer({ levels: own, range: [0, 256], onError: (error) => { said.push(error.message.includes("on fire")); return true; }, ...more });
    isBroken = true;
    await stage.show(props());
    for (let i = 0; i < 20; i += 1) await frame();
    const found = { said: [...said], empty: stage.pixels()(9, 9) };
    isBroken = false;
    // What leaves the view and comes back is tried again.
    stage.deck.setProps({ viewState: { target: [5000, 5000, 0], zoom: 0 } });
    for (let i = 0; i < 5; i += 1) await frame();
    stage.deck.setProps({ viewState: { target: [128, 64, 0], zoom: 0 } });
    for (let i = 0; i < 30; i += 1) await frame();
    found.again = stage.pixels()(9, 9);
    stage.end();
    return found;
  },

  /** Props that do not fit the array are told to `onError`. */
  async mistakes() {
    const array = await dense([["y", 0, 3, 4], ["x", 0, 3, 4]], { type: "float64" }, new Float64Array(16));
    const stage = new Stage({ width: 4, height: 4 });
    const said = [];
    for (const props of [{ attribute: "w" }, { x: "z" }, { place: [0, 0, 0, 0, 0, 0] }, { levels: [] }, { colormap: "jet" }, { channels: [{ axis: "c", index: 0, color: [1, 1, 1], range: [0, 1] }] }]) {
      const own = layer({ id: `l${said.length}`, levels: array, ...props, onError: (error) => { said.push(error.message); return true; } });
      stage.deck.setProps({ layers: [own] });
      for (let i = 0; i < 6; i += 1) await frame();
    }
    stage.end();
    return said;
  },

  /** A view with more cells than the cache holds reads nothing, and says so. */
  async tooMany() {
    const array = await dense([["y", 0, 999, 100], ["x", 0, 999, 100]], { type: "float32" }, new Float32Array(1e6));
    const views = [];
    const stage = new Stage({ width: 100, height: 100, state: { target: [500, 500, 0], zoom: -3 } });
    stage.deck.setProps({ layers: [layer({ levels: array, cacheBytes: 1e6, onView: ({ tooMany }) => views.push(tooMany) })] });
    for (let i = 0; i < 20; i += 1) await frame();
    const empty = stage.pixels()(50, 50);
    stage.deck.setProps({ viewState: { target: [500, 500, 0], zoom: 2 } });
    for (let i = 0; i < 60; i += 1) await frame();
    const found = { views, empty, near: stage.pixels()(50, 50) };
    stage.end();
    return found;
  },

  /** Values in view, without "no data". */
  async data() {
    const array = await dense([["y", 0, 9, 5], ["x", 0, 9, 5]], { type: "int32", fill: -1 }, Int32Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? -1 : i)));
    const said = [];
    const stage = new Stage({ width: 10, height: 5, state: { target: [5, 2.5, 0], zoom: 0 } });
    await stage.show(layer({ levels: array, decode: { scale: 2, offset: 0 }, onData: (data) => said.push(data) }));
    const { values, done } = said.at(-1);
    stage.end();
    return { done, values: [...values[0]].sort((a, b) => a - b) };
  },

  /** Props from a description: three samples of a pixel follow each other along x, and other applications' descriptions. */
  async described() {
    const array = await dense([["y", 0, 2, 3], ["x", 0, 11, 6]], { type: "uint8" }, Uint8Array.from({ length: 36 }, (_, i) => 5 * i));
    const axis = (name, role, more) => ({ name, dimension: name, role, coordinates: { type: "index" }, ...more });
    const variable = { name: "v", path: "", attribute: "v", datatype: "uint8", role: "data" };
    const samples = {
      variables: [{ ...variable, axes: [axis("y", "y", { first: 0, length: 3 }), axis("x", "x", { first: 0, length: 4, stride: 3 }), { ...axis("C", "channel", { first: 0, length: 3 }), dimension: "x" }] }],
      channels: ["red", "green", "blue"].map((interpretation, index) => ({ variable: "v", index, interpretation })),
    };
    const stage = new Stage({ width: 4, height: 3 });
    const found = { samples: (await stage.show(layer(arrayProps(samples, array))))(2, 1) };
    const even = (start, step) => ({ coordinates: { type: "regular", start, step } });
    const grid = { variables: [
      { ...variable, name: "text", datatype: "char", axes: [axis("y", "y"), axis("x", "x")] },
      { ...variable, axes: [axis("time", "time", { first: 4 }), axis("y", "y", even(40, -10)), axis("x", "x", even(5, 10))], packing: { scale: 0.5, offset: 1 }, missing: { values: [7], valid_min: 5 },
        flags: [{ value: 0, meaning: "sea", color: [0, 0, 255, 255] }, { value: 2, meaning: "land", color: [0, 255, 0, 255] }] },
    ] };
    const { levels: _, colormap: colors, ...props } = arrayProps(grid, array);
    found.grid = { ...props, colors: [...colors] };
    const valid = await stage.show(layer({ levels: array, range: [0, 256], valid: [10, 100], missing: [] }));
    found.valid = differences(valid, 4, 1, (x) => (x < 2 ? null : 5 * x));
    stage.end();
    return found;
  },

  /** Points of a query: colours, a missing value, sizes, picking, the count, and a condition. */
  async points() {
    const array = await create(new MemoryStore(), {
      type: "sparse", dims: ["x", "y"].map((name) => ({ name, type: "float64", domain: [0, 100], tile: 10 })),
      enumerations: [{ name: "kinds", type: "string_utf8", cell: "var", ordered: false, values: ["cat", "owl"] }],
      attrs: [{ name: "v", type: "float32", nullable: true }, { name: "kind", type: "int8", enumeration: "kinds" }],
    });
    await put(array, null, { x: Float64Array.of(10, 30, 50, 70), y: Float64Array.of(10, 10, 10, 10), v: [0, 50, 99, null], kind: Int8Array.of(0, 1, 0, 1) });
    const counts = [];
    const stage = new Stage({ width: 80, height: 20, state: { target: [40, 10, 0], zoom: 0 } });
    const points = (props) => new QueryLayer({ id: "cells", array, x: "x", y: "y", color: "v", range: [0, 100], colormap: "gray", missingColor: [255, 0, 0, 255], radius: 4, columns: ["kind"], pickable: true, onCount: (...all) => counts.push(all), ...props });
    const at = await stage.show(points());
    const found = { colours: [10, 30, 50, 70].map((x) => at(x, 10)), between: at(20, 10) };
    const { object } = await stage.deck.pickObjectAsync({ x: 30, y: 10 });
    found.object = object;
    found.rows = stage.layer().rowsIn({ x0: 40, y0: 0, x1: 80, y1: 20 }).map(({ x, v }) => [x, v]);
    const some = await stage.show(points({ where: "v >= 60", size: "v", sizeRange: [0, 99], sizePixels: [1, 9] }));
    found.some = [30, 50, 57].map((x) => some(x, 10)[3] > 0);
    const narrow = await stage.show(points({ pointsMax: 2 }));
    found.narrow = [10, 30, 50, 70].filter((x) => narrow(x, 10)[3] > 0).length;
    const colored = await stage.show(points({ color: undefined, rgb: ["v", "kind", "kind"], rgbMax: 100, where: "v < 60" }));
    found.rgb = [10, 30].map((x) => colored(x, 10));
    found.counts = counts.filter(([, done]) => done);
    stage.end();
    return found;
  },

  /** With `follow`, only points in view are read, again when the view has moved. */
  async follow() {
    const array = await create(new MemoryStore(), { type: "sparse", dims: ["x", "y"].map((name) => ({ name, type: "int64", domain: [0, 1000], tile: 10 })), attrs: [{ name: "v", type: "int32" }] });
    const along = BigInt64Array.from({ length: 1000 }, (_, i) => BigInt(i));
    await put(array, null, { x: along, y: along, v: new Int32Array(1000) });
    const counts = [];
    const stage = new Stage({ width: 40, height: 40, state: { target: [20, 20, 0], zoom: 0 } });
    await stage.show(new QueryLayer({ id: "cells", array, x: "x", y: "y", follow: true, onCount: (count, done) => { if (done) counts.push(count); } }));
    stage.deck.setProps({ viewState: { target: [990, 990, 0], zoom: 0 } });
    for (let i = 0; i < 60 && counts.length < 2; i += 1) await frame();
    await new Promise((done) => setTimeout(done, 300));
    stage.end();
    return counts;
  },

  /** Bytes that are sent to the GPU at first, and when colours, ranges and the view change. */
  async uploads() {
    const cells = await dense([["y", 0, 63, 64], ["x", 0, 63, 64]], { type: "float32" }, new Float32Array(4096).fill(5));
    const array = await create(new MemoryStore(), { type: "sparse", dims: ["x", "y"].map((name) => ({ name, type: "int32", domain: [0, 9999], tile: 100 })), attrs: [{ name: "v", type: "int32" }] });
    const along = Int32Array.from({ length: 5000 }, (_, i) => i);
    await put(array, null, { x: along, y: along, v: along });
    const stage = new Stage();
    const points = (props) => new QueryLayer({ id: "points", array, x: "x", y: "y", color: "v", ...props });
    const found = {};
    const show = async (name, ...layers) => {
      const before = uploaded;
      await stage.show(...layers);
      found[name] = uploaded - before;
    };
    await show("cells", layer({ levels: cells, range: [0, 10] }));
    await show("points", layer({ levels: cells, range: [0, 10] }), points({ range: [0, 5000] }));
    await show("styles", layer({ levels: cells, range: [1, 9], colormap: "magma", scale: "log", decode: { scale: 2, offset: 1 } }), points({ range: [0, 9], colormap: "turbo", radius: 9 }));
    stage.deck.setProps({ viewState: { target: [40, 40, 0], zoom: 1 } });
    await show("moved", layer({ levels: cells, range: [1, 9] }), points({ range: [0, 9] }));
    stage.end();
    return found;
  },
};

globalThis.scenarios = scenarios;
