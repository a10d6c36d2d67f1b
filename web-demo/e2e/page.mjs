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

/** Opens a page at this URL. The caller checks the errors that it logs. */
export async function visit(hash = "") {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const errors = [];
  // The package requests a listing once. If the server has none, Chromium logs its 404.
  const isList = (m) => m.text().includes("status of 404") && m.location().url.endsWith("/");
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
