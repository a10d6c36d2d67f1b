// Tests the viewer in a real browser with a real server.
// usage: SITE_DIR=<prepared site> HYPERSLAB=<hyperslab program> [SHOTS=<folder for screenshots>] node --test web-demo/e2e/
import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, colours, fault, settled, shot, site, visit } from "./page.mjs";

const traffic = async (page) => {
  const [, requests, amount, unit] = /(\d+) requests · ([\d.]+) (\w+)/.exec(await page.textContent("#traffic"));
  return { requests: Number(requests), bytes: Number(amount) * { B: 1, KB: 1e3, MB: 1e6 }[unit] };
};

test("the land mask is drawn whole, and cell by cell after zooming", async () => {
  const { page, errors } = await visit();
  assert.ok((await colours(page)) >= 2, "the picture has only one colour");
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
  assert.deepEqual(await errors(), []);
});

test("the value under the cursor is shown", async () => {
  const { page, errors } = await visit("#url=data/elevation/elevation");
  const box = await page.locator("#picture").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  assert.match(await page.textContent("#cursor"), /: [\d,]+$/);
  assert.deepEqual([await page.textContent("#legend-lo"), await page.textContent("#legend-hi")], ["236", "1,076"], "the ends of all cells, not of a sample");
  assert.ok((await colours(page)) > 100);
  await page.selectOption("#colours", "magma");
  await settled(page);
  await shot(page, "elevation");
  assert.deepEqual(await errors(), []);
});

test("earthquakes are drawn on the map, and their number grows through time", async () => {
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
  assert.deepEqual(await errors(), []);
});

test("for a URL without an array, the message says what to do", async () => {
  const { page } = await visit();
  await page.fill("#url", `${site}nothing-here`);
  await page.click("#address button");
  await page.waitForFunction(() => !document.getElementById("message").hidden && document.getElementById("message").className === "message");
  assert.match(await page.textContent("#message"), /not found|no array|hyperslab index/i);
  await shot(page, "message");
});

test("playing stops when its button or another array is clicked", async () => {
  const { page, errors } = await visit("#url=data/earthquakes/earthquakes");
  const label = () => page.getAttribute("#play", "aria-label");
  const moment = () => page.inputValue("#moment");
  await page.click("#play");
  assert.equal(await label(), "Stop");
  await page.waitForFunction(() => document.getElementById("moment").value === "1");
  await page.click("#play");
  assert.equal(await label(), "Play through time");
  await settled(page);
  const stopped = await moment();
  await page.waitForTimeout(1500);
  assert.equal(await moment(), stopped);

  await page.click("#play");
  await page.waitForFunction(() => document.getElementById("moment").value === "1");
  await page.click("#catalog button:nth-child(2)");
  assert.equal(await label(), "Play through time");
  await page.waitForFunction(() => document.getElementById("time").hidden);
  await page.waitForTimeout(1500);
  assert.ok(await page.locator("#time").isHidden());
  assert.match(await page.url(), /elevation/);
  assert.deepEqual(await errors(), []);
});

test("with reduced motion, the button steps from write to write", async () => {
  const { page, errors } = await visit("#url=data/earthquakes/earthquakes", { reducedMotion: true });
  // WebKit has no setting for it that a test can reach.
  if (browser === "webkit") await page.evaluate(() => { globalThis.matchMedia = (query) => ({ matches: query === "(prefers-reduced-motion: reduce)" }); });
  await page.locator("#moment").fill("3");
  await settled(page);
  assert.equal(await page.getAttribute("#play", "aria-label"), "Show the next write");
  for (const moment of ["4", "5"]) {
    await page.click("#play");
    await page.waitForFunction((moment) => document.getElementById("moment").value === moment, moment);
    await settled(page);
    assert.equal(await page.inputValue("#moment"), moment, "nothing plays by itself");
  }
  assert.deepEqual(await errors(), []);
});

test("a link never has a time that failed to open", async () => {
  const { page } = await visit("#url=data/earthquakes/earthquakes");
  const mend = fault(/earthquakes\//);
  await page.locator("#moment").fill("0");
  await page.waitForFunction(() => !document.getElementById("message").hidden);
  await page.waitForTimeout(500);
  assert.doesNotMatch(await page.url(), /[#&]at=/);
  assert.equal(await page.inputValue("#moment"), "7");
  mend();
  await page.locator("#moment").fill("3");
  await settled(page);
  await page.waitForTimeout(500);
  assert.match(await page.url(), /[#&]at=\d+/);
  assert.ok(await page.locator("#message").isHidden());
});

test("a link entered in the address bar is followed", async () => {
  const { page, errors } = await visit();
  await page.evaluate(() => (location.hash = "#url=data/elevation/elevation"));
  await page.waitForFunction(() => document.getElementById("url").value.endsWith("elevation"));
  await settled(page);
  assert.ok((await colours(page)) > 100);
  assert.deepEqual(await errors(), []);
});

test("an answer that comes after another request is dropped", async () => {
  const { page } = await visit();
  const mend = fault(/elevation\//, { delay: 1000 });
  const follow = (url) => page.evaluate((url) => { location.hash = `#url=${url}`; }, url);
  await follow("data/elevation/elevation");
  await follow("data/earthquakes/earthquakes");
  await page.waitForFunction(() => document.getElementById("cursor")?.textContent.includes("points"));
  // The elevation has come by then.
  await page.waitForTimeout(6000);
  assert.match(await page.textContent("#cursor"), /points in view/);
  assert.match(await page.url(), /earthquakes/);
  mend();
});

test("a failed read is reported, and retried when its cells come back into view", async () => {
  const { page } = await visit();
  const box = await page.locator("#picture").boundingBox();
  const zoomIn = async () => {
    await page.mouse.move(box.x + box.width * 0.52, box.y + box.height * 0.3);
    for (let i = 0; i < 7; i++) await page.mouse.wheel(0, -500);
    await settled(page);
  };
  const mend = fault(/__fragments/);
  await zoomIn();
  assert.ok(await page.locator("#message").isVisible());
  // The message may have come under the pointer.
  await page.mouse.move(box.x + box.width * 0.52, box.y + box.height * 0.1);
  assert.match(await page.textContent("#cursor"), /\(most frequent of \d+ × \d+ cells\)$/);
  mend();
  await page.click("#fit");
  await settled(page);
  assert.ok(await page.locator("#message").isHidden());
  await zoomIn();
  assert.ok(await page.locator("#message").isHidden());
  assert.match(await page.textContent("#cursor"), /: (true|false)$/);
});

test("without WebGL, the page says why there is no picture, and tables still work", async () => {
  const { page } = await visit("#url=data/elevation/elevation", { webgl: false });
  assert.match(await page.textContent("#no-webgl"), /no WebGL 2/);
  assert.ok(await page.locator("#no-webgl").isVisible());
  assert.equal(await page.locator("#picture").count(), 0);
  await shot(page, "no-webgl");
});

test("every sample opens, and names its source", async () => {
  const { page, errors } = await visit();
  const samples = await page.evaluate(async () => (await fetch("arrays.json")).json());
  assert.ok(samples.length >= 8);
  await page.waitForFunction(() => [...document.querySelectorAll("#catalog img")].every(({ complete }) => complete));
  const pictures = await page.$$eval("#catalog img", (all) => all.map(({ naturalWidth, naturalHeight }) => [naturalWidth, naturalHeight]));
  assert.deepEqual(pictures, samples.map(() => [112, 84]), "each has a picture");
  for (const { title, url, attribution } of samples) {
    await page.click(["#catalog button", title]);
    await page.waitForFunction((url) => document.querySelector(`[data-url="${url}"]`).ariaCurrent === "true", url);
    await settled(page);
    assert.ok(await page.locator("#message").isHidden(), `${title}: ${await page.textContent("#message")}`);
    assert.equal(await page.textContent("#attribution"), attribution);
    assert.deepEqual(await errors(), [], title);
  }
});
