// The visible part of the world: the point at the middle of the canvas, and the pixels per world unit. World units are
// cells for dense arrays (rows go down, columns go right), and dimension coordinates for sparse ones (y goes up).

export interface World { x0: number; x1: number; y0: number; y1: number; up: boolean }

export class Viewport {
  cx = 0;
  cy = 0;
  /** CSS pixels per world unit. */
  scale = 1;
  width = 1;
  height = 1;
  world: World = { x0: 0, x1: 1, y0: 0, y1: 1, up: false };

  fit(world: World): void {
    this.world = world;
    this.cx = (world.x0 + world.x1) / 2;
    this.cy = (world.y0 + world.y1) / 2;
    this.scale = this.fitScale();
  }

  toScreen(x: number, y: number): [number, number] {
    return [(x - this.cx) * this.scale + this.width / 2, (y - this.cy) * this.scale * this.sign + this.height / 2];
  }

  toWorld(px: number, py: number): [number, number] {
    return [(px - this.width / 2) / this.scale + this.cx, ((py - this.height / 2) / this.scale) * this.sign + this.cy];
  }

  /** Centres the view on a point. Clamps the point to the world, and the scale to the zoom limits. */
  look(x: number, y: number, scale: number): void {
    this.cx = clamp(x, this.world.x0, this.world.x1);
    this.cy = clamp(y, this.world.y0, this.world.y1);
    this.scale = this.within(scale);
  }

  pan(dx: number, dy: number): void {
    this.cx = clamp(this.cx - dx / this.scale, this.world.x0, this.world.x1);
    this.cy = clamp(this.cy - (dy / this.scale) * this.sign, this.world.y0, this.world.y1);
  }

  /** Zooms by `factor` around a point of the screen. */
  zoom(factor: number, px: number, py: number): void {
    const [x, y] = this.toWorld(px, py);
    this.scale = this.within(this.scale * factor);
    const [nx, ny] = this.toWorld(px, py);
    this.cx = clamp(this.cx + x - nx, this.world.x0, this.world.x1);
    this.cy = clamp(this.cy + y - ny, this.world.y0, this.world.y1);
  }

  /** The visible ranges of the world. */
  visible(): { x: [number, number]; y: [number, number] } {
    const [xa, ya] = this.toWorld(0, 0);
    const [xb, yb] = this.toWorld(this.width, this.height);
    return { x: [xa, xb], y: ya < yb ? [ya, yb] : [yb, ya] };
  }

  private within(scale: number): number {
    const whole = this.fitScale();
    return clamp(scale, whole / 2, Math.max(whole, this.world.up ? 4000 : 64));
  }

  private fitScale(): number {
    const { x0, x1, y0, y1 } = this.world;
    return 0.96 * Math.min(this.width / Math.max(x1 - x0, 1e-9), this.height / Math.max(y1 - y0, 1e-9));
  }

  private get sign(): number { return this.world.up ? -1 : 1; }
}

export function clamp(v: number, lo: number, hi: number): number {
  return Math.max(lo, Math.min(hi, v));
}
