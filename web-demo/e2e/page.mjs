// Helpers for the viewer's tests: servers, a real browser, and pages.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after, before } from "node:test";
import { chromium } from "playwright-core";

export const { SITE_DIR, HYPERSLAB, SHOTS: shots } = process.env;
assert.ok(SITE_DIR && HYPERSLAB, "SITE_DIR and HYPERSLAB must be set; `cargo xtask test viewer` sets them");
const servers = [];
export let site;
let browser;

before(async () => {
  site = await serve(SITE_DIR);
  browser = await chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
  });
});
after(async () => {
  await browser?.close();
  for (const server of servers) server.kill();
});

/** Serves a folder until the tests end, and returns its URL. */
export async function serve(folder) {
  const server = spawn(HYPERSLAB, ["serve", folder, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  servers.push(server);
  for await (const line of createInterface({ input: server.stdout })) {
    const address = /http:\/\/\S+/.exec(line)?.[0];
    if (address) return address;
  }
  throw new Error("the server printed no URL");
}

/** Opens a page at this URL, with options of Playwright. The caller checks the errors that it logs. */
export async function visit(hash = "", options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  const errors = [];
  // The package looks for listings and for neighbours with coordinates. If there are none, Chromium logs their 404.
  const isList = (m) => m.text().includes("status of 404") && /\/(__manifest\.json)?$/.test(m.location().url);
  page.on("console", (m) => m.type() === "error" && !isList(m) && errors.push(m.text()));
  page.on("pageerror", (e) => errors.push(String(e)));
  await page.goto(`${site}${hash}`);
  await settled(page);
  return { page, errors };
}

/** Waits until an array is open and nothing is loading. */
export async function settled(page) {
  await page.waitForFunction(() => document.body.dataset.busy !== undefined, undefined, { timeout: 60_000 });
  let calm = 0;
  while (calm < 3) {
    await page.waitForTimeout(120);
    calm = (await page.evaluate(() => document.body.dataset.busy)) === "false" ? calm + 1 : 0;
  }
}

export async function shot(page, name) {
  if (shots) await page.screenshot({ path: `${shots}/${name}.png` });
}

/** The picture without what lies over it: its size, and red, green, blue and alpha of each pixel, row by row. */
export async function picture(page) {
  const hide = (value) => page.evaluate((value) => {
    const canvas = document.getElementById("picture");
    for (const over of document.querySelectorAll("main > *, main > * > *")) if (!over.contains(canvas)) over.style.visibility = value;
  }, value);
  await hide("hidden");
  const clip = await page.locator("#picture").boundingBox();
  const png = await page.screenshot({ clip });
  await hide("");
  const { width, height, text } = await page.evaluate(async (encoded) => {
    const image = await createImageBitmap(new Blob([Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0))]));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const g = canvas.getContext("2d");
    g.drawImage(image, 0, 0);
    const { data } = g.getImageData(0, 0, image.width, image.height);
    let text = "";
    for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
    return { width: image.width, height: image.height, text: btoa(text) };
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
