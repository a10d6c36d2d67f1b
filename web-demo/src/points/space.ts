// The places of points: the first view, the scale of y, and the ranges in view.
import type { Fields, TileArray } from "hyperslab";
import type { World } from "../camera";
import type { Span } from "../takeaway";

type Closed = readonly [number, number];

/** A domain that is this many times wider than the written part is not shown whole. */
const EMPTY_MAX = 50;
/** Axes whose lengths differ by this factor would be drawn as a line. */
const UNEVEN = 20;

/** The ranges of two dimensions that are shown first. */
export function rangesOf(array: TileArray<Fields>, x: string, y: string): { x: [number, number]; y: [number, number] } {
  const written = array.nonEmptyDomain();
  const range = (name: string): [number, number] => {
    const index = array.dims.findIndex((dim) => dim.name === name);
    const [lo, hi] = (array.dims[index]?.domain ?? [0, 1]).map(Number) as [number, number];
    const [from, to] = (written?.[index] ?? [lo, hi]).map(Number) as [number, number];
    // If all points are at one place, show some space around it that suits the domain.
    const margin = (to - from) / 20 || Math.min(0.5, (hi - lo) / 20) || 0.5;
    return hi - lo <= (to - from) * EMPTY_MAX || (hi - lo <= 1000 && hi - lo >= 1) ? [lo, hi] : [from - margin, to + margin];
  };
  return { x: range(x), y: range(y) };
}

/** The world of points whose y is drawn `aspect` times as long as their x. */
export function worldOf({ x, y: [low, high] }: ReturnType<typeof rangesOf>, aspect: number): World {
  return { x, y: [low * aspect, high * aspect], up: true, isCells: false };
}

/**
 * How many times longer y must be drawn than x so that both fill the picture. A power of two: it multiplies coordinates
 * without rounding them.
 */
export function fillingAspect({ x, y }: ReturnType<typeof rangesOf>): number {
  const ratio = (x[1] - x[0]) / (y[1] - y[0]);
  return ratio > 0 && Number.isFinite(ratio) ? 2 ** Math.round(Math.log2(ratio)) : 1;
}

/** The aspect to start with: the aspect in a link, or 1 unless points would then be drawn as a line. */
export function startAspect(ranges: ReturnType<typeof rangesOf>, linked: string | undefined): number {
  const stated = Number(linked ?? NaN);
  if (stated > 0 && Number.isInteger(Math.log2(stated))) return stated;
  const filling = fillingAspect(ranges);
  return filling > UNEVEN || filling < 1 / UNEVEN ? filling : 1;
}

/** The coordinates of a dimension in a range of the world: exact at the ends of the domain. */
export function spanOf({ dims }: TileArray, name: string, [from, to]: Closed): Span {
  const { type = "", domain } = dims.find((dim) => dim.name === name) ?? {};
  const [first, last] = (domain ?? [from, to]) as readonly [number | bigint, number | bigint];
  // Outside the domain there is nothing, but a range has at least one coordinate.
  const within = (value: number) => Math.max(Number(first), Math.min(Number(last), value));
  if (type.startsWith("float")) return { type, lo: within(from), hi: within(to) };
  const whole = (value: number) => (typeof first === "bigint" ? BigInt(value) : value);
  const inside = (value: number | bigint) => (value < first ? first : value > last ? last : value);
  return { type, lo: inside(whole(Math.floor(from))), hi: inside(whole(Math.ceil(to))) };
}
