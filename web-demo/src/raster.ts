// Draws a dense array. Squares of cells are fetched when they come into view, coloured once, and drawn from a bounded
// cache. Squares that leave the view before they are fetched are skipped.
import { pixel } from "./colours.js";
import { levelRange } from "./levels.js";
import { numberAt, type Plane } from "./plane.js";
import type { Axis, Box, Range, Source } from "./source.js";
import type { Viewport } from "./viewport.js";

const SIDE = 512;
const IN_FLIGHT = 6;
const KEPT = 160;
/** The maximum number of cells per pixel. Above it, reads would be much larger than the picture. */
const CELLS_PER_PIXEL_MAX = 6;
const CELLS_ALWAYS_READ = 16e6;

interface Square {
  key: string; factor: number; row: number; col: number;
  /** In coordinates of the level with this factor. */
  box: Box;
  plane?: Plane; image?: OffscreenCanvas; painted?: string; failure?: unknown; abort?: AbortController;
}
/** The cell under a point. Its value is `undefined` until it is loaded, and `null` for no data. If `factor` is above 1, it is a mean. */
export interface Cell { row: number; col: number; factor: number; value: number | bigint | null | undefined }
/** The position of the array's first cell in the world, and the size of a cell in world units. */
export interface Place { x: number; y: number; scale: number; up: boolean }
export interface Style { map: Uint32Array; lo: number; hi: number; name: string }

export class Raster {
  range: Range = [Infinity, -Infinity];
  /** The error of a visible square that could not be read. */
  failure: unknown;
  onChange: () => void = () => {};
  private readonly row: Axis;
  private readonly col: Axis;
  private squares = new Map<string, Square>();
  private running = 0;
  private wanted: Square[] = [];

  constructor(readonly source: Source, readonly attribute: string, readonly fixed: number[],
              readonly place: Place = { x: 0, y: 0, scale: 1, up: false }) {
    [this.row, this.col] = source.sides();
  }

  get busy(): number { return this.running + this.wanted.length; }

  /** The factor of the level that is drawn. */
  factor(view: Viewport): number {
    return this.source.level(this.attribute, this.cellsPerPixel(view));
  }

  /** Whether the level has too many cells per pixel to be read. */
  tooCoarse(view: Viewport): boolean {
    const cells = length(this.row) * length(this.col);
    return this.cellsPerPixel(view) / this.factor(view) > CELLS_PER_PIXEL_MAX && cells > CELLS_ALWAYS_READ;
  }

  draw(g: CanvasRenderingContext2D, view: Viewport, style: Style): void {
    const factor = this.factor(view);
    this.failure = undefined;
    if (this.tooCoarse(view)) this.stop();
    else this.want(view, factor);
    g.save();
    // The outer cells of an overview may extend beyond the array.
    g.beginPath();
    g.rect(...this.screen(view, { row: [this.row.lo, this.row.hi], col: [this.col.lo, this.col.hi] }, 1));
    g.clip();
    g.imageSmoothingEnabled = view.scale * this.place.scale * factor < 1;
    const loaded = [...this.squares.values()].filter((s) => s.plane && s.factor >= factor);
    for (const s of loaded.sort((a, b) => b.factor - a.factor)) this.paint(g, view, s, style);
    g.restore();
  }

  /** The cell under a point of the world, from the finest level that is loaded there. */
  cellAt(wx: number, wy: number): Cell | undefined {
    const { x, y, scale, up } = this.place;
    const row = this.row.lo + Math.floor((up ? y - wy : wy - y) / scale);
    const col = this.col.lo + Math.floor((wx - x) / scale);
    if (!within(row, [this.row.lo, this.row.hi]) || !within(col, [this.col.lo, this.col.hi])) return undefined;
    const loaded = [...this.squares.values()].filter((s) => s.plane).sort((a, b) => a.factor - b.factor);
    for (const { factor, box, plane } of loaded) {
      const [r, c] = [Math.floor(row / factor), Math.floor(col / factor)];
      if (plane && within(r, box.row) && within(c, box.col)) return { row, col, factor, value: valueAt(plane, r, c, factor) };
    }
    return { row, col, factor: 1, value: undefined };
  }

  stop(): void {
    for (const s of this.squares.values()) s.abort?.abort();
    this.wanted = [];
  }

  private cellsPerPixel(view: Viewport): number {
    return 1 / (view.scale * this.place.scale * devicePixelRatio);
  }

  private paint(g: CanvasRenderingContext2D, view: Viewport, s: Square, style: Style): void {
    const plane = s.plane;
    if (!plane || plane.rows === 0 || plane.cols === 0) return;
    const box: Box = { row: [plane.row, plane.row + plane.rows - 1], col: [plane.col, plane.col + plane.cols - 1] };
    const [x, y, width, height] = this.screen(view, box, s.factor);
    if (x + width < 0 || y + height < 0 || x > view.width || y > view.height) return;
    const painted = `${style.name} ${style.lo} ${style.hi}`;
    if (s.painted !== painted) { s.image = colour(plane, style); s.painted = painted; }
    // Cells without a value show the background, not a coarser level.
    g.clearRect(x, y, width, height);
    if (s.image) g.drawImage(s.image, x, y, width, height);
  }

  /** Left, top, width and height of a box on the screen, in whole device pixels so that neighbours leave no gap. */
  private screen(view: Viewport, box: Box, factor: number): [number, number, number, number] {
    const { x, y, scale, up } = this.place;
    const corner = (row: number, col: number) => {
      const [down, right] = [(row * factor - this.row.lo) * scale, (col * factor - this.col.lo) * scale];
      return view.toScreen(x + right, up ? y - down : y + down).map((v) => Math.round(v * devicePixelRatio) / devicePixelRatio) as [number, number];
    };
    const [x0, y0] = corner(box.row[0], box.col[0]);
    const [x1, y1] = corner(box.row[1] + 1, box.col[1] + 1);
    return [x0, y0, x1 - x0, y1 - y0];
  }

  private want(view: Viewport, factor: number): void {
    const { x, y, scale, up } = this.place;
    const seen = view.visible();
    const [rowLo, rowHi] = up ? [y - seen.y[1], y - seen.y[0]] : [seen.y[0] - y, seen.y[1] - y];
    const span = (axis: Axis, lo: number, hi: number) => {
      const [first, last] = levelRange(axis, factor);
      const index = (v: number) => Math.floor((Math.floor((v / scale + axis.lo) / factor) - first) / SIDE);
      return [Math.max(0, index(lo)), Math.min(Math.floor((last - first) / SIDE), index(hi))] as const;
    };
    const side = (axis: Axis, i: number): Range => {
      const [first, last] = levelRange(axis, factor);
      return [first + i * SIDE, Math.min(first + (i + 1) * SIDE - 1, last)];
    };
    const [r0, r1] = span(this.row, rowLo, rowHi);
    const [c0, c1] = span(this.col, seen.x[0] - x, seen.x[1] - x);
    const needed = new Set<string>();
    this.wanted = [];
    for (let row = r0; row <= r1; row++) {
      for (let col = c0; col <= c1; col++) {
        const key = `${factor}/${row}/${col}`;
        needed.add(key);
        const s = this.squares.get(key) ?? { key, factor, row, col, box: { row: side(this.row, row), col: side(this.col, col) } };
        // Re-inserting keeps the map in order of use, least recently used first.
        this.squares.delete(key);
        this.squares.set(key, s);
        if (s.failure !== undefined) this.failure = s.failure;
        else if (!s.plane && !s.abort) this.wanted.push(s);
      }
    }
    const [mr, mc] = [(r0 + r1) / 2, (c0 + c1) / 2];
    this.wanted.sort((a, b) => Math.hypot(a.row - mr, a.col - mc) - Math.hypot(b.row - mr, b.col - mc));
    for (const s of this.squares.values()) {
      if (needed.has(s.key)) continue;
      s.abort?.abort();
      // A failed square is retried when it comes back into view.
      delete s.failure;
    }
    for (const s of this.squares.values()) {
      if (this.squares.size <= KEPT) break;
      if (!needed.has(s.key) && !s.abort) this.squares.delete(s.key);
    }
    while (this.running < IN_FLIGHT && this.wanted.length > 0) void this.fetch(this.wanted.shift() as Square);
  }

  private async fetch(s: Square): Promise<void> {
    const abort = new AbortController();
    s.abort = abort;
    this.running += 1;
    try {
      s.plane = await this.source.plane(this.attribute, s.factor, s.box, this.fixed, abort.signal);
      this.widen(s.plane);
    } catch (e) {
      if (!abort.signal.aborted) s.failure = e;
    } finally {
      delete s.abort;
      this.running -= 1;
      this.onChange();
    }
  }

  private widen(plane: Plane): void {
    let [lo, hi] = this.range;
    for (let i = 0; i < plane.data.length; i++) {
      const v = numberAt(plane, i);
      if (!Number.isFinite(v)) continue;
      if (v < lo) lo = v;
      if (v > hi) hi = v;
    }
    this.range = [lo, hi];
  }
}

function length({ lo, hi }: Axis): number { return hi - lo + 1; }

function within(v: number, [lo, hi]: Range): boolean { return v >= lo && v <= hi; }

/** The value of a loaded cell. `null` outside the level's box, for null, and in an overview for nodata, which means that there is no mean. */
function valueAt(plane: Plane, row: number, col: number, factor: number): number | bigint | null {
  const [r, c] = [row - plane.row, col - plane.col];
  if (r < 0 || c < 0 || r >= plane.rows || c >= plane.cols) return null;
  const i = r * plane.cols + c;
  const value = plane.data[i] ?? null;
  return plane.validity?.[i] === 0 || (factor > 1 && value !== null && plane.missing.includes(value)) ? null : value;
}

function colour(plane: Plane, style: Style): OffscreenCanvas {
  const canvas = new OffscreenCanvas(plane.cols, plane.rows);
  const image = new ImageData(plane.cols, plane.rows);
  const out = new Uint32Array(image.data.buffer);
  for (let i = 0; i < out.length; i++) out[i] = pixel(style.map, numberAt(plane, i), style.lo, style.hi);
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  return canvas;
}
