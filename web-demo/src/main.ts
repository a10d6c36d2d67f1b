// The viewer: opens an array, draws it, and lets the user move through space and time.
import { pixel, ramp } from "./colours.js";
import { attachGestures } from "./gestures.js";
import { readLink, writeLink } from "./link.js";
import { element, listed, markCurrent, say, showCatalog, showControls, showFacts, showTip, type Listed } from "./panel.js";
import { Raster, type Style } from "./raster.js";
import { Scatter } from "./scatter.js";
import { Source } from "./source.js";
import * as text from "./text.js";
import { onTraffic } from "./traffic.js";
import { Viewport } from "./viewport.js";

const canvas = element<HTMLCanvasElement>("picture");
const view = new Viewport();
let arrays: Listed[] = [];
let source: Source | undefined;
let layer: Raster | Scatter | undefined;
let backdrop: Raster | undefined;
let attribute = "";
let map = "viridis";
let fixed: number[] = [];
let moments: number[] = [];
let at: number | undefined;
let frame = 0;
let opening = 0;
let failure: string | undefined;

async function start(): Promise<void> {
  onTraffic((requests, bytes) => (element("traffic").textContent = `${requests} requests · ${text.bytes(bytes)}`));
  new ResizeObserver(resize).observe(canvas);
  resize();
  attachGestures(canvas, view, redraw, hover);
  element("zoom-in").onclick = () => { view.zoom(2, view.width / 2, view.height / 2); redraw(); };
  element("zoom-out").onclick = () => { view.zoom(0.5, view.width / 2, view.height / 2); redraw(); };
  element("fit").onclick = () => { view.fit(view.world); redraw(); };
  element<HTMLSelectElement>("attribute").onchange = (e) => { attribute = (e.target as HTMLSelectElement).value; makeLayer(); };
  element<HTMLSelectElement>("colours").onchange = (e) => { map = (e.target as HTMLSelectElement).value; redraw(); };
  element<HTMLInputElement>("moment").oninput = (e) => void travel(Number((e.target as HTMLInputElement).value));
  element("play").onclick = () => void play();
  element("address").onsubmit = (e) => {
    e.preventDefault();
    const url = element<HTMLInputElement>("url").value.trim();
    if (url) void show({ title: url, url, about: "" });
  };
  arrays = await listed();
  showCatalog(arrays, (a) => void show(a));
  const link = readLink();
  const first = link.url ? arrays.find((a) => a.url === link.url) ?? { title: link.url, url: link.url, about: "" } : arrays[0];
  if (first) await show(first, link);
  else say("Paste the address of an array on the left. It must be served with ranges and, from another origin, with CORS.", "hint");
}

async function show(chosen: Listed, link = {} as ReturnType<typeof readLink>): Promise<void> {
  const turn = ++opening;
  failure = undefined;
  say("Opening…", "hint");
  markCurrent(chosen.url);
  try {
    const opened = await Source.open(chosen.url);
    const last = opened.array.times();
    const wanted = link.at === undefined ? undefined : Number(link.at);
    const travelled = wanted === undefined ? opened : await Source.open(chosen.url, wanted);
    const land = !opened.dense && opened.isGeographic() ? await landBehind() : undefined;
    if (turn !== opening) return;
    [source, moments, at, backdrop] = [travelled, last, wanted, land];
  } catch (e) {
    if (turn === opening) fail(e);
    return;
  }
  const drawable = source.drawable();
  attribute = [link.attr, chosen.attribute, drawable[0]].find((a) => a !== undefined && drawable.includes(a)) ?? "";
  map = link.map ?? chosen.map ?? (source.dense ? "viridis" : "magma");
  fixed = source.axes().map((a) => a.lo);
  element("attribution").textContent = chosen.attribution ?? "";
  element<HTMLInputElement>("url").value = chosen.url;
  showControls(source, attribute, map, (axis, to) => { fixed[axis] = to; makeLayer(); });
  showFacts(source);
  showTime();
  view.fit(world(source));
  if (link.x && link.y && link.z) [view.cx, view.cy, view.scale] = [Number(link.x), Number(link.y), Number(link.z)];
  say(undefined);
  makeLayer();
}

/** The land mask behind points on the globe: one of the offered arrays has it. */
async function landBehind(): Promise<Raster | undefined> {
  const mask = arrays.find((a) => a.map === "land and sea");
  if (!mask) return undefined;
  const land = await Source.open(mask.url);
  const [rows, cols] = sides(land);
  const raster = new Raster(land, land.drawable()[0] ?? "", [], rows, cols, { x: -180, y: 90, scale: 360 / cols, up: true });
  raster.onChange = redraw;
  raster.onError = fail;
  return raster;
}

function sides(s: Source): [number, number] {
  const axes = s.axes();
  const side = (i: number) => { const a = axes.at(i); return a ? a.hi - a.lo + 1 : 1; };
  return axes.length > 1 ? [side(-2), side(-1)] : [1, side(-1)];
}

function world(s: Source): Viewport["world"] {
  if (s.dense) {
    const [rows, cols] = sides(s);
    return { x0: 0, x1: cols, y0: 0, y1: rows, up: false };
  }
  const [x, y] = s.plottedDims();
  const of = (name: string) => s.axes().find((a) => a.name === name) ?? { lo: 0, hi: 1 };
  return { x0: of(x).lo, x1: of(x).hi, y0: of(y).lo, y1: of(y).hi, up: true };
}

function makeLayer(): void {
  if (!source) return;
  layer?.stop();
  failure = undefined;
  const [rows, cols] = sides(source);
  const sizes = source.array.attrs.find((a) => /^mag/i.test(a.name))?.name;
  layer = source.dense ? new Raster(source, attribute, [...fixed], rows, cols) : new Scatter(source, attribute, sizes);
  layer.onChange = redraw;
  layer.onError = fail;
  redraw();
}

function showTime(): void {
  const slider = element<HTMLInputElement>("moment");
  element("time").hidden = moments.length < 2;
  slider.max = String(moments.length - 1);
  const i = at === undefined ? moments.length - 1 : moments.findLastIndex((m) => m <= (at as number));
  slider.value = String(Math.max(0, i));
  element("moment-label").textContent = text.moment(moments[Math.max(0, i)] ?? 0);
}

async function travel(i: number): Promise<void> {
  const turn = ++opening;
  const previous = source;
  if (!previous) return;
  at = i === moments.length - 1 ? undefined : moments[i];
  showTime();
  try {
    const travelled = await Source.open(previous.url, at);
    if (turn !== opening) return;
    source = travelled;
    const old = layer;
    makeLayer();
    // The old picture stays until the new one has arrived.
    if (old instanceof Scatter && layer instanceof Scatter) [layer.points, layer.range] = [old.points, old.range];
  } catch (e) {
    if (turn === opening) fail(e);
  }
}

async function play(): Promise<void> {
  for (let i = 0; i < moments.length; i++) {
    await travel(i);
    await new Promise((done) => setTimeout(done, 700));
  }
}

function resize(): void {
  const { clientWidth, clientHeight } = canvas;
  const fitted = view.width === 1;
  [view.width, view.height] = [clientWidth, clientHeight];
  canvas.width = Math.round(clientWidth * devicePixelRatio);
  canvas.height = Math.round(clientHeight * devicePixelRatio);
  if (fitted) view.fit(view.world);
  redraw();
}

function redraw(): void {
  if (frame === 0) frame = requestAnimationFrame(draw);
}

function style(): Style {
  const [lo, hi] = layer?.range ?? [0, 1];
  return { map: ramp(map), lo, hi, name: map };
}

function draw(): void {
  frame = 0;
  const g = canvas.getContext("2d");
  if (!g) return;
  g.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  g.clearRect(0, 0, view.width, view.height);
  backdrop?.draw(g, view, { map: ramp("land and sea").map((p) => dim(p)), lo: 0, hi: 1, name: "backdrop" });
  layer?.draw(g, view, style());
  const coarse = layer instanceof Raster && layer.tooCoarse(view);
  if (failure !== undefined) say(failure);
  else if (coarse) say("Too many cells to show at once. Zoom in: scroll, pinch or press +.", "hint");
  else if (layer) say(undefined);
  const busy = (layer?.busy ?? 0) + (backdrop?.busy ?? 0);
  element("busy").textContent = busy > 0 ? "loading…" : "";
  document.body.dataset["busy"] = String(busy > 0);
  showLegend();
  if (source) {
    writeLink({ url: source.url, ...(at === undefined ? {} : { at: String(at) }), attr: attribute, map,
                x: view.cx.toFixed(3), y: view.cy.toFixed(3), z: view.scale.toPrecision(6) });
  }
}

function dim(p: number): number {
  return (0xff000000 | (((p >> 1) & 0x7f7f7f) + 0x0a0a0a)) >>> 0;
}

function showLegend(): void {
  const { map: colours, lo, hi } = style();
  element("legend").hidden = !layer || !(lo <= hi);
  element("legend-lo").textContent = legendText(lo);
  element("legend-hi").textContent = legendText(hi);
  const bar = element<HTMLCanvasElement>("legend-bar");
  const image = new ImageData(bar.width, bar.height);
  const out = new Uint32Array(image.data.buffer);
  const steps = legendSteps(lo, hi);
  for (let i = 0; i < out.length; i++) {
    const t = (i % bar.width) / bar.width;
    out[i] = steps > 0 ? pixel(colours, lo + Math.floor(t * steps), lo, hi) : (colours[Math.floor(t * colours.length)] ?? 0);
  }
  bar.getContext("2d")?.putImageData(image, 0, 0);
}

/** How many values there are, where they are whole and so few that each has a field of its own; otherwise 0. */
function legendSteps(lo: number, hi: number): number {
  const type = source?.array.attrs.find((a) => a.name === attribute)?.type ?? "";
  return (type === "bool" || /^u?int/.test(type)) && hi - lo < 16 ? hi - lo + 1 : 0;
}

function legendText(v: number): string {
  return text.value(v, source?.array.attrs.find((a) => a.name === attribute)?.type ?? "");
}

function hover(px: number | undefined, py: number | undefined): void {
  const cursor = element("cursor");
  if (px === undefined || py === undefined || !source) { cursor.textContent = ""; showTip(undefined, 0, 0); return; }
  const [wx, wy] = view.toWorld(px, py);
  if (layer instanceof Raster) {
    const cell = layer.valueAt(wx, wy);
    const axes = source.axes();
    const name = (i: number) => axes.at(i)?.name ?? "";
    cursor.textContent = cell
      ? `${name(-2)} ${cell.row + (axes.at(-2)?.lo ?? 0)}, ${name(-1)} ${cell.col + (axes.at(-1)?.lo ?? 0)}: ${cell.value === undefined ? "…" : legendText(cell.value)}`
      : "";
    showTip(undefined, 0, 0);
  } else if (layer instanceof Scatter) {
    const [x, y] = source.plottedDims();
    cursor.textContent = `${x} ${wx.toFixed(3)}, ${y} ${wy.toFixed(3)} · ${(layer.points?.length ?? 0).toLocaleString("en")} points in view`;
    const i = layer.near(view, px, py);
    showTip(i === undefined ? undefined : tip(layer, i, x, y), px, py);
  }
}

function tip(scatter: Scatter, i: number, x: string, y: string): [string, string][] {
  const p = scatter.points;
  if (!p) return [];
  const attributes = Object.entries(p.columns).map(([name, c]): [string, string] => [name, text.value(c.at(i), c.type)]);
  return [[x, text.number(p.x[i] ?? 0)], [y, text.number(p.y[i] ?? 0)], ...attributes.filter(([, v]) => v !== "null")];
}

function fail(e: unknown): void {
  failure = e instanceof Error ? e.message : String(e);
  say(failure);
}

void start().catch(fail);
