// Draws a sparse array as points. The visible cells are queried again once the view stops moving.
import { css } from "./colours.js";
import type { Box, Points, Range, Source } from "./source.js";
import type { Missing } from "./plane.js";
import type { Style } from "./raster.js";
import type { Viewport } from "./viewport.js";

const REST_MS = 120;
const REACH_PX = 10;

export class Scatter {
  points: Points | undefined;
  range: Range = [Infinity, -Infinity];
  busy = 0;
  /** The error of the last query. */
  failure: unknown;
  onChange: () => void = () => {};
  private readonly missing: Missing;
  private asked = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private abort: AbortController | undefined;

  /** `attribute` gives the colour of points, and the attribute `sizes`, if any, their size. */
  constructor(readonly source: Source, readonly attribute: string, private readonly sizes: string | undefined) {
    this.missing = source.missing(attribute);
  }

  draw(g: CanvasRenderingContext2D, view: Viewport, style: Style): void {
    this.want(view);
    const p = this.points;
    if (!p) return;
    g.lineWidth = 0.75;
    for (let i = 0; i < p.length; i++) {
      const [x, y] = view.toScreen(p.x[i] as number, p.y[i] as number);
      if (x < -20 || y < -20 || x > view.width + 20 || y > view.height + 20) continue;
      const v = this.number(p, i);
      g.fillStyle = css(style.map, v, style.lo, style.hi);
      // Points without a value are rings.
      g.strokeStyle = Number.isNaN(v) ? "#8b9aa8" : "#0009";
      g.beginPath();
      g.arc(x, y, this.radius(i), 0, 2 * Math.PI);
      g.fill();
      g.stroke();
    }
  }

  /** The index of the point nearest to a position on the screen, if one is within reach. */
  near(view: Viewport, px: number, py: number): number | undefined {
    const p = this.points;
    let best: number | undefined;
    let reach = REACH_PX;
    for (let i = 0; p && i < p.length; i++) {
      const [x, y] = view.toScreen(p.x[i] as number, p.y[i] as number);
      const d = Math.hypot(x - px, y - py) - this.radius(i) / 2;
      if (d < reach) { reach = d; best = i; }
    }
    return best;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.abort?.abort();
  }

  private radius(i: number): number {
    const v = this.sizes === undefined ? undefined : this.points?.columns[this.sizes]?.at(i);
    return typeof v === "number" && v > 0 ? 1.5 + 0.2 * v * v : 3;
  }

  private want(view: Viewport): void {
    const seen = view.visible();
    const w = view.world;
    const box: Box = {
      col: [Math.max(seen.x[0], w.x0), Math.min(seen.x[1], w.x1)],
      row: [Math.max(seen.y[0], w.y0), Math.min(seen.y[1], w.y1)],
    };
    const asked = JSON.stringify(box);
    if (asked === this.asked) return;
    this.asked = asked;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.fetch(box), this.points ? REST_MS : 0);
  }

  private async fetch(box: Box): Promise<void> {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    this.busy += 1;
    try {
      const points = await this.source.points(box, abort.signal);
      if (abort.signal.aborted) return;
      [this.points, this.failure] = [points, undefined];
      this.widen(points);
    } catch (e) {
      // The current points may be those of another time.
      if (!abort.signal.aborted) [this.points, this.failure] = [undefined, e];
    } finally {
      this.busy -= 1;
      this.onChange();
    }
  }

  /** The value for a point's colour; NaN for no data. */
  private number(points: Points, i: number): number {
    const v = points.columns[this.attribute]?.at(i);
    return v === null || v === undefined || this.missing.includes(v as number) ? NaN : Number(v);
  }

  private widen(points: Points): void {
    let [lo, hi] = [Infinity, -Infinity];
    for (let i = 0; i < points.length; i++) {
      const v = this.number(points, i);
      if (!Number.isFinite(v)) continue;
      lo = Math.min(lo, v);
      hi = Math.max(hi, v);
    }
    if (lo <= hi) this.range = [lo, hi];
  }
}
