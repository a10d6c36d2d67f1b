// Where the lines of a graticule lie, and what they say.
import type { LabelledAxis } from "./axes";

/** A line: its place in positions of the axis, where a cell spans from its index to the next, and its text. */
export interface Tick { readonly place: number; readonly text: string }

/** The distance between neighbouring lines, in pixels, at least. */
const APART_PX = 90;
/** The most lines, whatever the view. */
const TICKS_MAX = 40;

/** Lines at round values in a part of an axis, of which each position spans so many pixels. */
export function ticksOf(axis: LabelledAxis, from: number, to: number, pixels: number): Tick[] {
  const { coordinates } = axis.axis;
  const line = coordinates.type === "regular" ? coordinates : coordinates.type === "array" && !isTime(axis) ? coordinates.regular : undefined;
  const [first, last] = [Math.max(0, from), Math.min(axis.length, to)];
  if (!(last > first)) return [];
  if (line && line.step !== 0 && !isTime(axis)) {
    // Coordinates are those of the middles of cells.
    const value = (place: number) => line.start + (place - 0.5) * line.step;
    const step = roundUp((APART_PX / pixels) * Math.abs(line.step));
    const [lo, hi] = [value(first), value(last)].sort((a, b) => a - b) as [number, number];
    return multiples(step, lo, hi).map((v) => ({ place: (v - line.start) / line.step + 0.5, text: textOf(v, step, axis) }));
  }
  const step = Math.max(1, roundUp(APART_PX / pixels));
  return multiples(step, Math.ceil(first), Math.min(Math.floor(last), axis.length - 1)).map((i) => ({ place: i + 0.5, text: axis.text(i) }));
}

function isTime({ axis: { unit = "" } }: LabelledAxis): boolean {
  return / since /.test(unit);
}

/** The smallest of 1, 2, 5, 10, 20, … and their decimal fractions that is not less than `least`. */
export function roundUp(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10);
}

function multiples(step: number, lo: number, hi: number): number[] {
  const first = Math.ceil(lo / step - 1e-9);
  const count = Math.min(TICKS_MAX, Math.floor(hi / step + 1e-9) - first + 1);
  return Array.from({ length: Math.max(0, count) }, (_, i) => (first + i) * step);
}

/** A round value with as many digits as its step needs, and its unit. */
function textOf(value: number, step: number, { axis: { unit = "", role } }: LabelledAxis): string {
  const digits = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
  const shown = Math.abs(value).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  if (/^degrees?(_|$)/.test(unit)) return `${shown}°${value === 0 ? "" : role === "y" ? (value < 0 ? "S" : "N") : role === "x" ? (value < 0 ? "W" : "E") : value < 0 ? " below 0" : ""}`;
  return `${value < 0 ? "−" : ""}${shown}${unit && unit !== "1" ? ` ${unit}` : ""}`;
}
