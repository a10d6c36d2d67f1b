// A dense array as a picture: squares of cells are fetched as they come into view, coloured once,
// and drawn from a bounded cache. What has left the view before its turn is not fetched.
import { pixel } from "./colours.js";
import type { Plane, Source } from "./source.js";
import type { Viewport } from "./viewport.js";

const SIDE = 512;
const IN_FLIGHT = 6;
const KEPT = 160;
/** A picture coarser than this many cells to a pixel would read far more than it shows. */
const CELLS_PER_PIXEL_MAX = 6;
const CELLS_ALWAYS_READ = 16e6;

interface Square {
  key: string; factor: number; row: number; col: number;
  plane?: Plane; image?: OffscreenCanvas; painted?: string; failed?: boolean; abort?: AbortController;
}
/** Where the array's first cell lies in the world, and how many world units a cell spans. */
export interface Place { x: number; y: number; scale: number; up: boolean }
export interface Style { map: Uint32Array; lo: number; hi: number; name: string }

export class Raster {
  range: [number, number] = [Infinity, -Infinity];
  onChange: () => void = () => {};
  onError: (e: unknown) => void = () => {};
  private squares = new Map<string, Square>();
  private running = 0;
  private wanted: Square[] = [];

  constructor(readonly source: Source, readonly attribute: string, readonly fixed: number[],
              readonly rows: number, readonly cols: number,
              readonly place: Place = { x: 0, y: 0, scale: 1, up: false }) {}

  get busy(): number { return this.running + this.wanted.length; }

  /** Whether the array would have to be read at a much finer grain than the screen shows. */
  tooCoarse(view: Viewport): boolean {
    const perPixel = this.cellsPerPixel(view);
    return perPixel / this.source.level(perPixel) > CELLS_PER_PIXEL_MAX && this.rows * this.cols > CELLS_ALWAYS_READ;
  }

  draw(g: CanvasRenderingContext2D, view: Viewport, style: Style): void {
    const factor = this.source.level(this.cellsPerPixel(view));
    if (!this.tooCoarse(view)) this.want(view, factor);
    g.imageSmoothingEnabled = view.scale * this.place.scale * factor < 1;
    const loaded = [...this.squares.values()].filter((s) => s.plane && s.factor >= factor);
    for (const s of loaded.sort((a, b) => b.factor - a.factor)) this.paint(g, view, s, style);
  }

  /** The cell under a point of the world, and its value where it is loaded. */
  valueAt(wx: number, wy: number): { row: number; col: number; value: number | undefined } | undefined {
    const { x, y, scale, up } = this.place;
    const col = Math.floor((wx - x) / scale);
    const row = Math.floor((up ? y - wy : wy - y) / scale);
    if (row < 0 || col < 0 || row >= this.rows || col >= this.cols) return undefined;
    const loaded = [...this.squares.values()].filter((s) => s.plane).sort((a, b) => a.factor - b.factor);
    for (const s of loaded) {
      const r = Math.floor(row / s.factor) - s.row * SIDE;
      const c = Math.floor(col / s.factor) - s.col * SIDE;
      if (s.plane && r >= 0 && c >= 0 && r < s.plane.rows && c < s.plane.cols) {
        return { row, col, value: s.plane.data[r * s.plane.cols + c] };
      }
    }
    return { row, col, value: undefined };
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
    if (!plane) return;
    const [x0, y0] = this.screen(view, s.row * SIDE * s.factor, s.col * SIDE * s.factor);
    const [x1, y1] = this.screen(view, (s.row * SIDE + plane.rows) * s.factor, (s.col * SIDE + plane.cols) * s.factor);
    if (x1 < 0 || y1 < 0 || x0 > view.width || y0 > view.height) return;
    const painted = `${style.name} ${style.lo} ${style.hi}`;
    if (s.painted !== painted) { s.image = colour(plane, style); s.painted = painted; }
    // Whole device pixels, so that neighbours leave no seam.
    const snap = (v: number) => Math.round(v * devicePixelRatio) / devicePixelRatio;
    if (s.image) g.drawImage(s.image, snap(x0), snap(y0), snap(x1) - snap(x0), snap(y1) - snap(y0));
  }

  private screen(view: Viewport, row: number, col: number): [number, number] {
    const { x, y, scale, up } = this.place;
    return view.toScreen(x + col * scale, up ? y - row * scale : y + row * scale);
  }

  private want(view: Viewport, factor: number): void {
    const { x, y, scale, up } = this.place;
    const seen = view.visible();
    const [rowLo, rowHi] = up ? [y - seen.y[1], y - seen.y[0]] : [seen.y[0] - y, seen.y[1] - y];
    const span = (lo: number, hi: number, cells: number) => {
      const last = Math.ceil(cells / factor / SIDE) - 1;
      const index = (v: number) => Math.floor(v / scale / factor / SIDE);
      return [Math.max(0, index(lo)), Math.min(last, index(hi))] as const;
    };
    const [r0, r1] = span(rowLo, rowHi, this.rows);
    const [c0, c1] = span(seen.x[0] - x, seen.x[1] - x, this.cols);
    const needed = new Set<string>();
    this.wanted = [];
    for (let row = r0; row <= r1; row++) {
      for (let col = c0; col <= c1; col++) {
        const key = `${factor}/${row}/${col}`;
        needed.add(key);
        const s = this.squares.get(key) ?? { key, factor, row, col };
        // Re-inserting keeps the map in order of use, its front the least recently seen.
        this.squares.delete(key);
        this.squares.set(key, s);
        if (!s.plane && !s.abort && !s.failed) this.wanted.push(s);
      }
    }
    const [mr, mc] = [(r0 + r1) / 2, (c0 + c1) / 2];
    this.wanted.sort((a, b) => Math.hypot(a.row - mr, a.col - mc) - Math.hypot(b.row - mr, b.col - mc));
    for (const s of this.squares.values()) if (s.abort && !needed.has(s.key)) s.abort.abort();
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
      const span = (at: number, cells: number): [number, number] =>
        [at * SIDE, Math.min((at + 1) * SIDE, Math.ceil(cells / s.factor)) - 1];
      const box = { row: span(s.row, this.rows), col: span(s.col, this.cols) };
      s.plane = await this.source.plane(this.attribute, s.factor, box, this.fixed, abort.signal);
      this.widen(s.plane);
    } catch (e) {
      if (!abort.signal.aborted) { s.failed = true; this.onError(e); }
    } finally {
      delete s.abort;
      this.running -= 1;
      this.onChange();
    }
  }

  private widen({ data }: Plane): void {
    let [lo, hi] = this.range;
    for (let i = 0; i < data.length; i++) {
      const v = data[i] as number;
      if (v < lo) lo = v;
      if (v > hi) hi = v;
    }
    this.range = [lo, hi];
  }
}

function colour(plane: Plane, style: Style): OffscreenCanvas {
  const canvas = new OffscreenCanvas(plane.cols, plane.rows);
  const image = new ImageData(plane.cols, plane.rows);
  const out = new Uint32Array(image.data.buffer);
  for (let i = 0; i < out.length; i++) out[i] = pixel(style.map, plane.data[i] as number, style.lo, style.hi);
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  return canvas;
}
