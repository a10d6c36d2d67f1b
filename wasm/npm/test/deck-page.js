// The page of deck.test.mjs: draws layers, and returns pixels. Each scenario makes its own arrays.
import { Deck, MapView, OrthographicView } from "@deck.gl/core";
import { create, get, levels, MemoryStore, open, put, putMeta } from "hyperslab";
import { ArrayLayer, colormap } from "hyperslab/deck";

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
};

globalThis.scenarios = scenarios;
