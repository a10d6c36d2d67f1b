// The viewer in a real browser over a real server: what a visitor would see and do.
// usage: node --test web-demo/e2e/  with SITE_DIR naming the prepared site, HYPERSLAB the program
// that serves it and, optionally, SHOTS a folder for pictures.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const { SITE_DIR, HYPERSLAB, SHOTS: shots } = process.env;
assert.ok(SITE_DIR && HYPERSLAB, "SITE_DIR and HYPERSLAB must be set; `cargo xtask test viewer` sets them");
let server;
let site;
let browser;

before(async () => {
  server = spawn(HYPERSLAB, ["serve", SITE_DIR, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: server.stdout })) {
    site = /http:\/\/\S+/.exec(line)?.[0];
    if (site) break;
  }
  assert.ok(site, "the server gave no address");
  browser = await chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
  });
});
after(async () => {
  await browser?.close();
  server?.kill();
});

/** A fresh page at this address; what it logs as an error fails the test. */
async function visit(hash = "") {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const errors = [];
  page.on("console", (m) => m.type() === "error" && errors.push(m.text()));
  page.on("pageerror", (e) => errors.push(String(e)));
  await page.goto(`${site}${hash}`);
  await settled(page);
  return { page, errors };
}

/** Waits until an array is open and nothing is being loaded. */
async function settled(page) {
  await page.waitForFunction(() => document.body.dataset.busy !== undefined, undefined, { timeout: 60_000 });
  let calm = 0;
  while (calm < 3) {
    await page.waitForTimeout(120);
    calm = (await page.evaluate(() => document.body.dataset.busy)) === "false" ? calm + 1 : 0;
  }
}

async function shot(page, name) {
  if (shots) await page.screenshot({ path: `${shots}/${name}.png` });
}

/** How many different colours the picture has: 1 where nothing was drawn. */
async function colours(page) {
  return page.evaluate(() => {
    const canvas = document.getElementById("picture");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
}

const traffic = async (page) => {
  const [, requests, amount, unit] = /(\d+) requests · ([\d.]+) (\w+)/.exec(await page.textContent("#traffic"));
  return { requests: Number(requests), bytes: Number(amount) * { B: 1, KB: 1e3, MB: 1e6 }[unit] };
};

test("the land mask is drawn whole and zooms to its cells", async () => {
  const { page, errors } = await visit();
  assert.ok((await colours(page)) >= 2, "the picture has one colour only");
  await shot(page, "land");
  const whole = await traffic(page);
  assert.ok(whole.bytes < 3e6, `the overview took ${whole.bytes} bytes`);
  const box = await page.locator("#picture").boundingBox();
  for (let i = 0; i < 7; i++) {
    await page.mouse.move(box.x + box.width * 0.52, box.y + box.height * 0.3);
    await page.mouse.wheel(0, -500);
  }
  await settled(page);
  await shot(page, "land-zoomed");
  assert.match(await page.textContent("#cursor"), /: (true|false)$/);
  assert.ok((await traffic(page)).requests > whole.requests, "zooming fetched nothing");
  assert.deepEqual(errors, []);
});

test("the elevation shows the value under the cursor", async () => {
  const { page, errors } = await visit("#url=data/elevation/elevation");
  const box = await page.locator("#picture").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  assert.match(await page.textContent("#cursor"), /: [\d,]+$/);
  assert.ok((await colours(page)) > 100);
  await page.selectOption("#colours", "magma");
  await settled(page);
  await shot(page, "elevation");
  assert.deepEqual(errors, []);
});

test("the earthquakes lie on the map and grow through time", async () => {
  const { page, errors } = await visit("#url=data/earthquakes/earthquakes");
  const box = await page.locator("#picture").boundingBox();
  const count = async () => {
    await page.mouse.move(box.x + box.width / 2 + Math.random() * 9, box.y + box.height / 2);
    return Number(/([\d,]+) points/.exec(await page.textContent("#cursor"))[1].replace(",", ""));
  };
  assert.equal(await count(), 1707);
  await shot(page, "earthquakes");
  await page.locator("#moment").fill("0");
  await settled(page);
  assert.equal(await count(), 198);
  await shot(page, "earthquakes-first-day");
  assert.deepEqual(errors, []);
});

test("an address without an array gives a message that says what to do", async () => {
  const { page } = await visit();
  await page.fill("#url", `${site}nothing-here`);
  await page.click("#address button");
  await page.waitForFunction(() => !document.getElementById("message").hidden && document.getElementById("message").className === "");
  assert.match(await page.textContent("#message"), /not found|no array|hyperslab index/i);
  await shot(page, "message");
});
