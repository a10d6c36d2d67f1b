// The colours of observations, and the order in which they are drawn.
import type { Colouring } from "./colouring";

export type Rgb = readonly [number, number, number];

/** Ten strong colours, then ten light ones: Tableau 20, which matplotlib calls tab20. */
const DISTINCT: readonly Rgb[] = [
  "1f77b4", "ff7f0e", "2ca02c", "d62728", "9467bd", "8c564b", "e377c2", "bcbd22", "17becf", "7f7f7f",
  "aec7e8", "ffbb78", "98df8a", "ff9896", "c5b0d5", "c49c94", "f7b6d2", "dbdb8d", "9edae5", "c7c7c7",
].map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)) as unknown as Rgb);
/** Of observations without a value. */
const MISSING: Rgb = [128, 136, 144];
const ALPHA = { shown: 230, missing: 90, outside: 38 };

/** The colour of a category. Past the palette, hues are spread by the golden angle. */
export function categoryColour(code: number): Rgb {
  return DISTINCT[code] ?? hue((code * 137.508) % 360);
}

/** A colour of medium saturation and lightness, from a hue in degrees. */
function hue(degrees: number): Rgb {
  const channel = (shift: number) => {
    const k = (shift + degrees / 30) % 12;
    return Math.round(255 * (0.58 - 0.3 * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

export function cssColour([r, g, b]: Rgb): string {
  return `rgb(${r} ${g} ${b})`;
}

/** What is drawn of the values. */
export interface Style {
  /** The categories that are hidden. */
  readonly hidden: ReadonlySet<number>;
  /** 1 for each selected row. `undefined`: there is no selection. */
  readonly selected: Uint8Array | undefined;
}

/** Four bytes for each observation: red, green, blue, alpha. Numbers get the colours of `ramp`: 256, four bytes each. */
export function coloursOf(colouring: Colouring | undefined, length: number, { hidden, selected }: Style, ramp: ArrayLike<number>): Uint8Array {
  const out = new Uint8Array(length * 4);
  const colour = colourOf(colouring, ramp);
  for (let i = 0; i < length; i += 1) {
    const packed = colour(i);
    const isMissing = packed === undefined;
    const isHidden = colouring?.kind === "categories" && hidden.has(colouring.codes[i] ?? -1);
    out[i * 4] = isMissing ? MISSING[0] : packed & 255;
    out[i * 4 + 1] = isMissing ? MISSING[1] : (packed >> 8) & 255;
    out[i * 4 + 2] = isMissing ? MISSING[2] : (packed >> 16) & 255;
    out[i * 4 + 3] = isHidden ? 0 : selected && !selected[i] ? ALPHA.outside : isMissing ? ALPHA.missing : ALPHA.shown;
  }
  return out;
}

/** The packed colour of an observation. */
function colourOf(colouring: Colouring | undefined, ramp: ArrayLike<number>): (i: number) => number | undefined {
  if (!colouring) return () => pack([31, 158, 137]);
  if (colouring.kind === "categories") {
    const palette = Uint32Array.from(colouring.labels, (_, code) => pack(categoryColour(code)));
    return (i) => palette[colouring.codes[i] ?? -1];
  }
  const map = Uint32Array.from({ length: ramp.length / 4 }, (_, i) => pack([ramp[i * 4] ?? 0, ramp[i * 4 + 1] ?? 0, ramp[i * 4 + 2] ?? 0]));
  const { values, low, high } = colouring;
  return (i) => {
    const value = values[i] ?? NaN;
    return Number.isNaN(value) ? undefined : map[Math.round(shareOf(value, low, high) * (map.length - 1))];
  };
}

/** Where a value lies between the lowest (0) and the highest (1). */
export function shareOf(value: number, low: number, high: number): number {
  return high > low ? Math.max(0, Math.min(1, (value - low) / (high - low))) : 0;
}

function pack([r, g, b]: Rgb): number {
  return r | (g << 8) | (b << 16);
}

const STEPS = 256;

/** The rows in the order in which they are drawn: high numbers over low ones, and these over those without a value. */
export function drawingOrder(colouring: Colouring | undefined, length: number): Uint32Array {
  const order = new Uint32Array(length);
  if (colouring?.kind !== "numbers") return order.map((_, i) => i);
  const { values, low, high } = colouring;
  const step = (i: number) => (Number.isNaN(values[i]) ? 0 : 1 + Math.round(shareOf(values[i] ?? 0, low, high) * (STEPS - 1)));
  const starts = new Uint32Array(STEPS + 2);
  for (let i = 0; i < length; i += 1) starts[step(i) + 1] = (starts[step(i) + 1] ?? 0) + 1;
  for (let s = 1; s < starts.length; s += 1) starts[s] = (starts[s] ?? 0) + (starts[s - 1] ?? 0);
  for (let i = 0; i < length; i += 1) {
    const at = step(i);
    order[starts[at] ?? 0] = i;
    starts[at] = (starts[at] ?? 0) + 1;
  }
  return order;
}
