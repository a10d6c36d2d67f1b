// The pages in `examples`, built with the packed package and opened in a browser. `SCREENSHOTS=FOLDER` keeps pictures.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { launch } from "../test/browser.mjs";
import { samples } from "../test/samples.mjs";
import { serve } from "../test/serve.mjs";
import { filesOf, here, pack, project, tool } from "./projects.mjs";

const arrays = [...(await samples())].filter(([path]) => path.startsWith("arrays/"));
const vite = { vite: "8.3.8" };

/** The files of an example's folder, as texts by path. */
async function sources(name) {
  return Object.fromEntries([...(await filesOf(join(here, "examples", name)))].map(([path, bytes]) => [path, `${bytes}`]));
}

/** Builds an example with Vite, and returns the files of the site. */
async function built(name, tools) {
  const folder = await project(`example-${name}`, { ...vite, ...tools }, await sources(name));
  await tool(folder, "vite/bin/vite.js", "build", "--logLevel", "warn");
  return filesOf(join(folder, "dist"));
}

/** Opens a site in a browser, and calls `look` with its page. The page may log only errors that `expected` matches, and request nothing from other hosts. */
async function inBrowser(name, files, look, expected) {
  const server = await serve(new Map([...files, ...arrays]), { listing: "json" });
  let page;
  try {
    page = await launch();
    await page.visit(`${server.url}/index.html`);
    await look(page);
    if (process.env.SCREENSHOTS) await writeFile(join(process.env.SCREENSHOTS, `${name}.png`), await page.screenshot(), "base64");
    assert.deepEqual((await page.errors()).filter((error) => !expected?.test(error)), []);
    const requested = await page.run(`return performance.getEntriesByType("resource").map(({ name }) => name)`);
    assert.deepEqual(requested.filter((url) => !url.startsWith(server.url) && !/^(data|blob):/.test(url)), []);
  } catch (error) {
    throw new Error(`${error.message}\nthe page logged: ${await page?.errors().catch(() => "")}`, { cause: error });
  } finally {
    await page?.close();
    await server.close();
  }
}

/** Waits until the page's `<output>` says this. */
const says = (page, pattern) => page.wait(`return ${pattern}.test(document.querySelector("output")?.textContent) || undefined`);

/** Moves the slider to a value, and tells the page, as the browser does. */
const move = (page, value) => page.run(`
  const slider = document.querySelector("input[type=range]");
  // React watches the property of the element itself.
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(slider, arguments[0]);
  slider.dispatchEvent(new Event("input", { bubbles: true }));`, value);

/** Waits until a number of pixels have about this colour, because libraries draw in their own time. */
async function draws(page, colour, [from, to]) {
  let count;
  for (let tries = 0; tries < 50; tries += 1) {
    count = await page.runAsync(`(${countPixels})("${await page.screenshot()}", [${colour}]).then(done)`);
    if (count >= from && count <= to) return;
  }
  assert.fail(`${count} pixels have the colour ${colour}, instead of ${from} to ${to}`);
}

/** The number of pixels of a picture that have about this colour. Runs in the page, which can decode pictures. */
async function countPixels(picture, colour) {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) count += Number(colour.every((value, band) => Math.abs(data[i + band] - value) < 12));
  return count;
}

test("Canvas, without a bundler", async () => {
  const files = [["index.html", await readFile(join(here, "examples/canvas/index.html"))], ...(await filesOf(join(pack.folder, "dist"), "hyperslab/"))];
  await inBrowser("canvas", files, async (page) => {
    const green = (x, y) => page.run(`return document.querySelector("canvas").getContext("2d").getImageData(${x}, ${y}, 1, 1).data[1]`);
    await says(page, /^2018-06-01$/);
    const [corner, low] = [await green(10, 70), await green(1000, 300)];
    assert.ok(corner > 220 && low > 130 && low < 180, `${corner} ${low}`);
    await move(page, 0);
    await says(page, /^2018-01-02$/);
    assert.ok(await green(10, 70) < 180);
  });
});

const deckgl = { "@deck.gl/core": "9.4.0", "@deck.gl/layers": "9.4.0" };

test("deck.gl: an array on a map", async () => {
  await inBrowser("deckgl-map", await built("deckgl-map", deckgl), async (page) => {
    // Low ground.
    await draws(page, [0, 204, 102], [5_000, 400_000]);
    await page.act([{ type: "pointerMove", duration: 100, x: 300, y: 200 }, { type: "pointerMove", duration: 100, x: 320, y: 220 }]);
    await says(page, /^\d+ m at row \d+, column \d+$/);
  });
});

test("deck.gl: points of a query", async () => {
  const orange = [255, 140, 0];
  await inBrowser("deckgl-points", await built("deckgl-points", deckgl), async (page) => {
    await says(page, /^6 earthquakes$/);
    await draws(page, orange, [300, 20_000]);
    await move(page, 5.5);
    await says(page, /^0 earthquakes$/);
    await draws(page, orange, [0, 0]);
    await move(page, 3);
    await says(page, /^4 earthquakes$/);
    await draws(page, orange, [100, 20_000]);
  });
});

test("deck.gl: channels of an image", async () => {
  await inBrowser("deckgl-image", await built("deckgl-image", deckgl), async (page) => {
    await says(page, /^A cell of the image has 2 by 2 pixels$/);
    // The left half has the first channel, the upper half the second.
    for (const colour of [[255, 255, 255], [255, 0, 255], [0, 255, 0]]) await draws(page, colour, [10_000, 20_000]);
    // An array of coordinates may be next to the image.
  }, /arrays\/(channel|x|y)\/.* 404/);
});

test("MapLibre", async () => {
  const files = await built("maplibre", { "maplibre-gl": "6.17.0" });
  const red = [208, 64, 32];
  await inBrowser("maplibre", files, async (page) => {
    await says(page, /^Anza, CA · Los Angeles, CA · Ridgecrest, CA · The Geysers, CA$/);
    await draws(page, red, [1000, 6000]);
    // Drags the map by 320 pixels, and rests before the release, so that it stops there.
    const to = (x) => ({ type: "pointerMove", duration: 100, x, y: 300 });
    await page.act([to(400), { type: "pointerDown", button: 0 }, to(240), to(80), { type: "pause", duration: 500 }, { type: "pointerUp", button: 0 }]);
    await says(page, /^Anza, CA · Los Angeles, CA · Ridgecrest, CA$/);
    await draws(page, red, [700, 4500]);
  });
});

test("React", async () => {
  const files = await built("react", { react: "19.3.1", "react-dom": "19.3.1", "@vitejs/plugin-react": "6.3.0" });
  await inBrowser("react", files, async (page) => {
    const red = (value) => page.wait(`
      const [red, , , opaque] = document.querySelector("canvas")?.getContext("2d").getImageData(0, 0, 1, 1).data ?? [];
      return (red === ${value} && opaque === 255) || undefined`);
    await says(page, /-3\.5 to 8\.5 °C/);
    await red(128 + 25);
    await move(page, 183);
    await says(page, /16\.5 to 28\.5 °C/);
    await red(128 + 125);
  });
});

test("Svelte", async () => {
  const files = await built("svelte", { svelte: "5.57.3", "@sveltejs/vite-plugin-svelte": "7.3.1" });
  await inBrowser("svelte", files, async (page) => {
    const points = () => page.run(`return document.querySelector("polyline").getAttribute("points")`);
    await says(page, /366 days, 4\.0 to 24\.0 °C at 4, 10/);
    assert.equal((await points()).split(" ").length, 366);
    assert.ok((await points()).startsWith("0,180 "), (await points()).slice(0, 20));
    await move(page, 0);
    await says(page, /366 days, 6\.0 to 26\.0 °C at 0, 10/);
    assert.ok((await points()).startsWith("0,170 "), (await points()).slice(0, 20));
  });
});
