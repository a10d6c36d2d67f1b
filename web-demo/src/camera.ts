// The visible part of the world: the point in the middle of the canvas, and the pixels per world unit.
import { computed, signal } from "@preact/signals";

/** The largest visible area. `up`: whether y grows upwards. `isCells`: whether the unit is a cell. */
export interface World { x: [number, number]; y: [number, number]; up: boolean; isCells: boolean }

/** The smallest scale, relative to the one that shows the whole world. */
const FARTHEST = 0.5;
/** The maximum number of pixels per cell. */
const CELL_PX = 64;
/** The maximum number of pixels that a world of coordinates spans. */
const WORLD_PX = 2 ** 34;
/** The smallest part of a coordinate that a pixel may span: numbers of 64 bits have 53 binary digits. */
const DIGITS = 2 ** -46;
/** The part of the canvas that the whole world fills. */
const FILLED = 0.96;

export class Camera {
  readonly world = signal<World>({ x: [0, 1], y: [0, 1], up: false, isCells: true });
  /** In CSS pixels. */
  readonly size = signal({ width: 1, height: 1 });
  readonly state = signal({ x: 0, y: 0, scale: 1 });
  /** Whether the user has moved since the whole world was shown. */
  private moved = false;

  /** The closed ranges of x and y on the canvas. */
  readonly visible = computed(() => {
    const { x, y, scale } = this.state.value;
    const { width, height } = this.size.value;
    return { x: [x - width / 2 / scale, x + width / 2 / scale], y: [y - height / 2 / scale, y + height / 2 / scale] } as { x: [number, number]; y: [number, number] };
  });

  /** Shows the whole world. */
  fit(world = this.world.peek()): void {
    this.world.value = world;
    this.state.value = { x: (world.x[0] + world.x[1]) / 2, y: (world.y[0] + world.y[1]) / 2, scale: this.fitScale() };
    this.moved = false;
  }

  resize(width: number, height: number): void {
    if (width <= 0 || height <= 0) return;
    this.size.value = { width, height };
    if (this.moved) this.look(this.state.peek());
    else this.fit();
  }

  /** Clamps the point to the world, and the scale to the limits. Ignores what is not finite. */
  look({ x, y, scale }: { x: number; y: number; scale: number }): void {
    if (![x, y, scale].every(Number.isFinite) || scale <= 0) return;
    const { x: [x0, x1], y: [y0, y1] } = this.world.peek();
    const fit = this.fitScale();
    const next = { x: clamp(x, x0, x1), y: clamp(y, y0, y1), scale: clamp(scale, fit * FARTHEST, Math.max(fit, this.nearest())) };
    const now = this.state.peek();
    if (next.x === now.x && next.y === now.y && next.scale === now.scale) return;
    this.state.value = next;
    this.moved = true;
  }

  /** Zooms around the middle of the canvas. */
  zoom(factor: number): void {
    const { x, y, scale } = this.state.peek();
    this.look({ x, y, scale: scale * factor });
  }

  /** Moves by pixels of the screen, right and down. */
  pan(right: number, down: number): void {
    const { x, y, scale } = this.state.peek();
    this.look({ x: x + right / scale, y: y + (down / scale) * (this.world.peek().up ? -1 : 1), scale });
  }

  /** Shows the same part of the world as another camera, if that was moved. */
  follow(other: Camera): void {
    this.size.value = other.size.peek();
    if (other.moved) this.look(other.state.peek());
    else this.fit();
  }

  /** The point of the world at a pixel of the canvas. */
  toWorld(px: number, py: number): [number, number] {
    const { x, y, scale } = this.state.peek();
    const { width, height } = this.size.peek();
    return [x + (px - width / 2) / scale, y + ((py - height / 2) / scale) * (this.world.peek().up ? -1 : 1)];
  }

  /** The pixel of the canvas at a point of the world. */
  toScreen(wx: number, wy: number): [number, number] {
    const { x, y, scale } = this.state.value;
    const { width, height } = this.size.value;
    return [(wx - x) * scale + width / 2, (wy - y) * scale * (this.world.value.up ? -1 : 1) + height / 2];
  }

  /** For the page's link. */
  link(): Record<string, string> {
    const { x, y, scale } = this.state.value;
    // To a hundredth of a pixel.
    const digits = clamp(Math.ceil(Math.log10(scale)) + 2, 0, 100);
    return { x: String(Number(x.toFixed(digits))), y: String(Number(y.toFixed(digits))), z: String(Number(scale.toPrecision(6))) };
  }

  /** Looks where a link says, if it says so. */
  followLink(link: Readonly<Record<string, string>>): void {
    const number = (name: string) => (link[name] === undefined || link[name] === "" ? NaN : Number(link[name]));
    this.look({ x: number("x"), y: number("y"), scale: number("z") });
  }

  /** The largest scale. */
  private nearest(): number {
    const { x, y, isCells } = this.world.peek();
    if (isCells) return CELL_PX;
    const farthest = Math.max(...x.map(Math.abs), ...y.map(Math.abs), Number.MIN_VALUE);
    return Math.min(WORLD_PX / Math.max(x[1] - x[0], y[1] - y[0], Number.MIN_VALUE), 1 / (farthest * DIGITS));
  }

  private fitScale(): number {
    const { x: [x0, x1], y: [y0, y1] } = this.world.peek();
    const { width, height } = this.size.peek();
    return FILLED * Math.min(width / Math.max(x1 - x0, Number.MIN_VALUE), height / Math.max(y1 - y0, Number.MIN_VALUE));
  }
}

function clamp(v: number, lo: number, hi: number): number {
  return Math.max(lo, Math.min(hi, v));
}
