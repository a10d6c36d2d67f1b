// The viewer: opens an array, draws it, and lets the user navigate in space and time.
import { MAPS, pixel, ramp } from "./colours.js";
import { attachGestures } from "./gestures.js";
import { readLink, writeLink, type Link } from "./link.js";
import { element, fill, listed, markCurrent, say, showCatalog, showControls, showFacts, showTip, type Listed } from "./panel.js";
import { Raster, type Cell, type Style } from "./raster.js";
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
/** The number of the latest request to show something, and of the latest one that is done. */
let asked = 0;
let settled = -1;
let failure: string | undefined;
/** Identifies the running playback. A playback stops if this is no longer its object. */
let playing: object | undefined;
let pointer: [number, number] | undefined;

async function start(): Promise<void> {
  onTraffic((requests, bytes) => (element("traffic").textContent = `${requests} request${requests === 1 ? "" : "s"} · ${text.bytes(bytes)}`));
  new ResizeObserver(resize).observe(canvas);
  resize();
  attachGestures(canvas, view, redraw, (x, y) => {
    pointer = x === undefined || y === undefined ? undefined : [x, y];
    showCursor();
  });
  element("zoom-in").onclick = () => { view.zoom(2, view.width / 2, view.height / 2); redraw(); };
  element("zoom-out").onclick = () => { view.zoom(0.5, view.width / 2, view.height / 2); redraw(); };
  element("fit").onclick = () => { view.fit(view.world); redraw(); };
  element<HTMLSelectElement>("attribute").onchange = (e) => { attribute = (e.target as HTMLSelectElement).value; makeLayer(); };
  element<HTMLSelectElement>("colours").onchange = (e) => { map = (e.target as HTMLSelectElement).value; redraw(); };
  element<HTMLInputElement>("moment").oninput = (e) => { stopPlaying(); void travel(Number((e.target as HTMLInputElement).value)); };
  element("play").onclick = () => { if (playing) stopPlaying(); else void play(); };
  element("address").onsubmit = (e) => {
    e.preventDefault();
    const url = element<HTMLInputElement>("url").value.trim();
    if (url) void show({ title: url, url, about: "" });
  };
  arrays = await listed();
  showCatalog(arrays, (a) => void show(a));
  onhashchange = () => void follow(readLink());
  // The user may have entered a URL meanwhile.
  if (asked === 0) await follow(readLink());
}

/** Shows the array of a link, or else the first array of the catalog. */
async function follow(link: Link): Promise<void> {
  const first = link.url ? arrays.find((a) => a.url === link.url) ?? { title: link.url, url: link.url, about: "" } : arrays[0];
  if (first) return show(first, link);
  settled = asked;
  say("Enter the URL of an array on the left. Its server must support byte ranges and, on another origin, CORS.", "hint");
  redraw();
}

async function show(chosen: Listed, link: Link = {}): Promise<void> {
  stopPlaying();
  const turn = ++asked;
  failure = undefined;
  say("Opening…", "hint");
  markCurrent(chosen.url);
  redraw();
  try {
    const newest = await Source.open(chosen.url);
    const wanted = link.at;
    const opened = wanted === undefined ? newest : await Source.open(chosen.url, wanted);
    const land = !opened.dense && opened.isGeographic() ? await landBehind() : undefined;
    if (turn !== asked) return;
    backdrop?.stop();
    [source, moments, at, backdrop] = [opened, newest.array.times(), wanted, land];
  } catch (e) {
    if (turn === asked) fail(e);
    return;
  }
  const drawable = source.drawable();
  attribute = [link.attr, chosen.attribute, drawable[0]].find((a) => a !== undefined && drawable.includes(a)) ?? "";
  map = [link.map, chosen.map].find((m) => m !== undefined && MAPS.includes(m)) ?? (source.dense ? "viridis" : "magma");
  fixed = source.axes().map((a) => a.lo);
  element("attribution").textContent = chosen.attribution ?? "";
  element<HTMLInputElement>("url").value = chosen.url;
  showControls(source, attribute, map, (axis, to) => { fixed[axis] = to; makeLayer(); });
  view.fit(world(source));
  if (link.x !== undefined && link.y !== undefined && link.z !== undefined) view.look(link.x, link.y, link.z);
  settle();
}

/** Shows the source that has just been opened. */
function settle(): void {
  if (!source) return;
  settled = asked;
  markCurrent(source.url);
  showFacts(source);
  showTime();
  makeLayer();
}

/** The land mask to draw behind points on the globe, if the catalog has one. */
async function landBehind(): Promise<Raster | undefined> {
  const mask = arrays.find((a) => a.map === "land and sea");
  if (!mask) return undefined;
  const land = await Source.open(mask.url);
  const [, col] = land.sides();
  const raster = new Raster(land, land.drawable()[0] ?? "", [], { x: -180, y: 90, scale: 360 / (col.hi - col.lo + 1), up: true });
  raster.onChange = redraw;
  return raster;
}

function world(s: Source): Viewport["world"] {
  if (s.dense) {
    const [row, col] = s.sides();
    return { x0: 0, x1: col.hi - col.lo + 1, y0: 0, y1: row.hi - row.lo + 1, up: false };
  }
  const [x, y] = s.plottedDims();
  const of = (name: string) => s.axes().find((a) => a.name === name) ?? { lo: 0, hi: 1 };
  return { x0: of(x).lo, x1: of(x).hi, y0: of(y).lo, y1: of(y).hi, up: true };
}

function makeLayer(): void {
  if (!source) return;
  layer?.stop();
  failure = source.undrawable();
  const sizes = source.array.attrs.find((a) => /^mag/i.test(a.name))?.name;
  layer = failure !== undefined ? undefined : source.dense ? new Raster(source, attribute, [...fixed]) : new Scatter(source, attribute, sizes);
  if (layer) layer.onChange = redraw;
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
  if (!source) return;
  const turn = ++asked;
  const { url } = source;
  const wanted = i === moments.length - 1 ? undefined : moments[i];
  element<HTMLInputElement>("moment").value = String(i);
  element("moment-label").textContent = `${text.moment(moments[i] ?? 0)} …`;
  redraw();
  try {
    const travelled = await Source.open(url, wanted);
    if (turn !== asked) return;
    [source, at] = [travelled, wanted];
  } catch (e) {
    if (turn === asked) fail(e);
    return;
  }
  // There may be new writes since the times were listed.
  if (at === undefined) moments = source.array.times();
  // The schema of an earlier time may lack the attribute.
  const drawable = source.drawable();
  if (!drawable.includes(attribute)) attribute = drawable[0] ?? "";
  fill(element("attribute"), drawable, attribute);
  view.world = world(source);
  const old = layer;
  settle();
  // The old picture stays until the new one has arrived.
  if (old instanceof Scatter && layer instanceof Scatter) [layer.points, layer.range] = [old.points, old.range];
}

async function play(): Promise<void> {
  const mine = {};
  playing = mine;
  showPlaying();
  for (let i = 0; i < moments.length && playing === mine; i++) {
    await travel(i);
    await new Promise((done) => setTimeout(done, 700));
  }
  if (playing === mine) stopPlaying();
}

function stopPlaying(): void {
  playing = undefined;
  showPlaying();
}

function showPlaying(): void {
  const button = element("play");
  button.textContent = playing ? "■" : "▶";
  button.setAttribute("aria-label", playing ? "Stop" : "Play through time");
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
  const wrong = failure ?? layer?.failure ?? backdrop?.failure;
  const opening = settled !== asked;
  if (wrong !== undefined) say(message(wrong));
  else if (coarse) say("Too many cells to show at once. Zoom in: scroll, pinch or press +.", "hint");
  else if (layer && !opening) say(undefined);
  const factor = layer instanceof Raster && !coarse ? layer.factor(view) : 1;
  element("level").textContent = factor > 1 ? `overview: ${source?.describeCell(attribute, factor)}` : "";
  const busy = (layer?.busy ?? 0) + (backdrop?.busy ?? 0) + Number(opening);
  element("busy").textContent = busy > 0 ? "loading…" : "";
  document.body.dataset["busy"] = String(busy > 0);
  showLegend();
  // The cell under the pointer can change without a pointer event.
  showCursor();
  if (source) {
    writeLink({ url: source.url, at: at?.toString(), attr: attribute, map,
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

/** The number of distinct integers or booleans, if it is small enough to give each a step in the legend; otherwise 0. */
function legendSteps(lo: number, hi: number): number {
  const type = typeOf(attribute);
  return (type === "bool" || /^u?int/.test(type)) && hi - lo < 16 ? hi - lo + 1 : 0;
}

function legendText(v: number): string {
  return source?.shown(attribute, v) ?? "";
}

function showCursor(): void {
  const cursor = element("cursor");
  cursor.textContent = "";
  let near: number | undefined;
  if (pointer && source && layer instanceof Raster) {
    const cell = layer.cellAt(...view.toWorld(...pointer));
    const [row, col] = source.sides();
    const at = ({ name, type }: typeof row, v: number) => `${name} ${/^(date)?time_/.test(type) ? source?.shown(name, v) : v}`;
    if (cell) cursor.textContent = `${row.name === "" ? "" : `${at(row, cell.row)}, `}${at(col, cell.col)}: ${cellText(cell)}`;
  } else if (pointer && source && layer instanceof Scatter) {
    const [wx, wy] = view.toWorld(...pointer);
    const [x, y] = source.plottedDims();
    const at = (name: string, v: number) => `${name} ${/^(date)?time_/.test(typeOf(name)) ? source?.shown(name, Math.floor(v)) : v.toFixed(3)}`;
    cursor.textContent = `${at(x, wx)}, ${at(y, wy)} · ${layer.points?.length.toLocaleString("en") ?? "…"} points in view`;
    near = layer.near(view, ...pointer);
    if (near !== undefined) showTip(tip(layer, near, x, y), ...pointer);
  }
  if (near === undefined) showTip(undefined, 0, 0);
}

/** The text for a cell: its value, and whether it is a mean, the fill value or nodata. */
function cellText({ value, factor }: Cell): string {
  if (value === undefined) return "…";
  if (value === null) return "no data";
  const shown = source?.shown(attribute, value) ?? "";
  if (factor > 1) return `${shown} (${source?.describeCell(attribute, factor)})`;
  if (value === source?.fill(attribute)) return `${shown} (fill value)`;
  return source?.missing(attribute).includes(value) ? `${shown} (no data)` : shown;
}

function typeOf(name: string): string {
  const { attrs, dims } = source?.array ?? { attrs: [], dims: [] };
  return (attrs.find((a) => a.name === name) ?? dims.find((d) => d.name === name))?.type ?? "";
}

function tip(scatter: Scatter, i: number, x: string, y: string): [string, string][] {
  const p = scatter.points;
  if (!p) return [];
  const there = Object.entries(p.columns).filter(([, c]) => c.at(i) !== null);
  const attributes = there.map(([name, c]): [string, string] => [name, source?.shown(name, c.at(i)) ?? ""]);
  return [[x, source?.shown(x, p.x[i] ?? 0) ?? ""], [y, source?.shown(y, p.y[i] ?? 0) ?? ""], ...attributes];
}

/** Shows an error. The previous array stays. */
function fail(e: unknown): void {
  stopPlaying();
  settled = asked;
  failure = message(e);
  if (source) { markCurrent(source.url); showTime(); }
  redraw();
}

function message(e: unknown): string {
  return e instanceof Error ? e.message : String(e);
}

void start().catch(fail);
