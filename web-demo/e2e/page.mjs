// Helpers for the viewer's tests: servers, a real browser, and pages.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { browser, launch } from "../../wasm/npm/test/browser.mjs";
import { Page } from "./driven.mjs";
import { requests, serve, stopServers } from "./server.mjs";

export { fault, requests, serve } from "./server.mjs";
export { browser };
export const { SITE_DIR, HYPERSLAB, SHOTS: shots } = process.env;
assert.ok(SITE_DIR && HYPERSLAB, "SITE_DIR and HYPERSLAB must be set; `cargo xtask test viewer` sets them");
export let site;
let session, kind, sized;
let downloads;

before(async () => {
  downloads = mkdtempSync(join(tmpdir(), "downloads-"));
  site = await serve(SITE_DIR);
});
after(async () => {
  await session?.close();
  stopServers();
  rmSync(downloads, { recursive: true });
});

/** Starts the browser in light or dark colours, with or without WebGL and motion, unless it runs so. */
async function started(colorScheme, webgl, reducedMotion) {
  const wanted = `${colorScheme} ${webgl} ${reducedMotion}`;
  // A page that crashed ends its session.
  const isAlive = session && kind === wanted && (await session.title().then(() => true, () => false));
  if (isAlive) return;
  await session?.close();
  session = await launch({}, { downloads, dark: colorScheme === "dark", reducedMotion, webgl });
  await session.ask("POST", "/timeouts", { script: 100_000 });
  [kind, sized] = [wanted, ""];
}

/** Gives the page a size. Windows have a least width, to which a smaller one is raised. */
async function resize({ width, height }) {
  if (sized === `${width} ${height}`) return;
  const inside = () => session.run("return [innerWidth, innerHeight]");
  await session.visit("about:blank");
  for (let tries = 0; tries < 5; tries += 1) {
    const [w, h] = await inside();
    if (w === width && h === height) break;
    const outer = await session.ask("GET", "/window/rect");
    await session.ask("POST", "/window/rect", { width: outer.width + width - w, height: outer.height + height - h });
    await sleep(200);
  }
  sized = `${width} ${height}`;
}

/** Opens this hash in the browser's one page, with nothing stored, and returns the page and a function that lists its errors. */
export async function visit(hash = "", { colorScheme = "light", reducedMotion = false, webgl = true, viewport = { width: 1280, height: 800 } } = {}) {
  await started(colorScheme, webgl, reducedMotion);
  await resize(viewport);
  const page = new Page(session);
  await page.evaluate(FORGET).catch(() => {});
  await session.errors();
  const first = requests.length;
  await page.goto(`${site}${hash}`);
  await settled(page);
  return { page, errors: () => errorsOf(page, first) };
}

/** Empties the page's storage. */
const FORGET = async () => {
  sessionStorage.clear();
  localStorage.clear();
  const root = await navigator.storage.getDirectory();
  for await (const name of root.keys()) await root.removeEntry(name, { recursive: true });
};

/** What the page reported, and the requests that failed, from the first on. */
async function errorsOf(page, first) {
  // The package looks for listings and for neighbours with coordinates, which are not everywhere.
  const isList = (url) => /\/(__manifest\.json)?$/.test(new URL(url).pathname);
  const reported = JSON.parse(await page.evaluate(() => document.documentElement.dataset.errors ?? "[]"));
  const failed = requests.slice(first).filter(({ url, status }) => status >= 400 && !(status === 404 && isList(url)));
  const logged = (await session.errors()).filter((line) => !(line.includes("status of 404") && isList(line.split(" ")[0])));
  return [...reported, ...failed.map(({ url, status }) => `${url}: status of ${status}`), ...logged];
}

/** Registers a test that needs storage, which WebKit on Linux does not give pages. */
export function stored(name, run) {
  if (browser !== "webkit") test(name, run);
}

/** Waits until an array is open and nothing is loading. */
export async function settled(page) {
  await page.waitForFunction(() => document.body.dataset.busy !== undefined);
  let calm = 0;
  while (calm < 3) {
    await page.waitForTimeout(120);
    calm = (await page.evaluate(() => document.body.dataset.busy)) === "false" ? calm + 1 : 0;
  }
}

/** Clicks what saves a file, and returns the file's name and path. */
export async function downloaded(page, selector) {
  const before = new Set(readdirSync(downloads));
  await page.click(selector);
  const end = Date.now() + 60_000;
  for (;;) {
    const files = readdirSync(downloads).filter((name) => !before.has(name));
    const done = files.find((name) => !/\.(part|crdownload|wkdownload)$|^\./.test(name));
    if (done && files.length === 1) return { name: done, path: join(downloads, done) };
    if (Date.now() > end) throw new Error(`no file was saved by ${selector}, only ${files}`);
    await sleep(50);
  }
}

export async function shot(page, name) {
  if (shots) await page.screenshot({ path: `${shots}/${browser === "chromium" ? "" : `${browser}-`}${name}.png` });
}

/** The picture without what lies over it: its size, and red, green, blue and alpha of each pixel, row by row. */
export async function picture(page) {
  const hide = (value) => page.evaluate((value) => {
    const canvas = document.getElementById("picture");
    for (const over of document.querySelectorAll("main > *, main > * > *")) if (!over.contains(canvas)) over.style.visibility = value;
    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }, value);
  await hide("hidden");
  const png = await page.screenshot();
  await hide("");
  const { width, height, text } = await page.evaluate(async (encoded) => {
    const image = await createImageBitmap(new Blob([Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0))]));
    const scale = image.width / innerWidth;
    const box = document.getElementById("picture").getBoundingClientRect();
    const canvas = new OffscreenCanvas(Math.round(box.width), Math.round(box.height));
    const g = canvas.getContext("2d");
    g.drawImage(image, box.x * scale, box.y * scale, box.width * scale, box.height * scale, 0, 0, canvas.width, canvas.height);
    const { data } = g.getImageData(0, 0, canvas.width, canvas.height);
    let text = "";
    for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
    return { width: canvas.width, height: canvas.height, text: btoa(text) };
  }, png.toString("base64"));
  return { width, height, data: new Uint8Array(Buffer.from(text, "base64")) };
}

/** The colour at these fractions of a picture, as red, green and blue. */
export function colourAt({ width, height, data }, across, down) {
  const at = (Math.floor(height * down) * width + Math.floor(width * across)) * 4;
  return [...data.subarray(at, at + 3)];
}

/** The colour of the page where nothing is drawn. */
export async function ground(page) {
  const [, ...rgb] = /rgb\((\d+), (\d+), (\d+)\)/.exec(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
  return rgb.map(Number);
}

/** Whether nothing is drawn at these fractions of the picture. */
export async function isBlank(page, across, down) {
  return String(colourAt(await picture(page), across, down)) === String(await ground(page));
}

/** The number of different colours in the picture: 1 if nothing was drawn. */
export async function colours(page) {
  const { data } = await picture(page);
  return new Set(new Uint32Array(data.buffer, data.byteOffset, data.length / 4)).size;
}
