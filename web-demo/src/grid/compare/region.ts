// Where the cells of a dense array may differ between two moments.
import type { Extreme, FragmentInfo, TileArray } from "hyperslab";
import type { LabelledAxis } from "../axes";
import { common, sizeOf, type Box, type Placed } from "../cells";

/** The most boxes that are compared one by one. */
const BOXES_MAX = 64;

type Positions = Readonly<Record<string, number>>;

/** The fragments that only one of both moments shows, and those whose writes are only partly before one of them. */
export function differing(then: readonly FragmentInfo[], now: readonly FragmentInfo[], from: number, to: number): FragmentInfo[] {
  const [before, after] = [then, now].map((list) => new Set(list.map(({ name }) => name))) as [Set<string>, Set<string>];
  const all = [...then, ...now.filter(({ name }) => !before.has(name))];
  return all.filter(({ name, start, end }) => before.has(name) !== after.has(name) || (start < end && end > from && start <= to));
}

/** The boxes of fragments in the picture, without common cells. */
export function boxesOf(fragments: readonly FragmentInfo[], array: TileArray, placed: Placed, at: Positions): Box[] {
  const found = fragments.flatMap(({ nonEmptyDomain }) => (nonEmptyDomain && boxOf(nonEmptyDomain, array, placed, at)) || []);
  const bounds = found.reduce<Box | undefined>((a, b) => (a ? { c0: Math.min(a.c0, b.c0), c1: Math.max(a.c1, b.c1), r0: Math.min(a.r0, b.r0), r1: Math.max(a.r1, b.r1) } : b), undefined);
  if (!bounds) return [];
  if (found.length > BOXES_MAX || found.reduce((sum, box) => sum + sizeOf(box), 0) >= sizeOf(bounds)) return [bounds];
  return found.reduce<Box[]>((apart, box) => [...apart, ...apart.reduce((rest, other) => rest.flatMap((part) => without(part, other)), [box])], []);
}

/** The part of the picture that is in a box of coordinates, one range for each dimension. `undefined` if there is none. */
export function boxOf(ranges: readonly (readonly [Extreme, Extreme])[], { dims }: Pick<TileArray, "dims">, { x, y, others }: Placed, at: Positions): Box | undefined {
  const span = (axis: LabelledAxis, low: number, high: number): [number, number] | undefined => {
    const range = ranges[dims.findIndex(({ name }) => name === axis.axis.dimension)];
    if (!range || typeof range[0] === "string" || typeof range[1] === "string") return [low, high];
    const first = BigInt(axis.coordinate(0));
    const position = (coordinate: number | bigint) => floor(BigInt(coordinate) - first, BigInt(axis.axis.stride ?? 1));
    const [from, to] = [Math.max(low, Number(position(range[0]))), Math.min(high, Number(position(range[1])))];
    return from <= to ? [from, to] : undefined;
  };
  const isAside = others.some((axis) => !span(axis, at[axis.axis.dimension] ?? 0, at[axis.axis.dimension] ?? 0));
  const columns = span(x, 0, x.length - 1);
  const rows = y ? span(y, 0, y.length - 1) : [0, 0] as const;
  return isAside || !columns || !rows ? undefined : { c0: columns[0], c1: columns[1], r0: rows[0], r1: rows[1] };
}

/** The parts of a box outside another. */
export function without(box: Box, other: Box): Box[] {
  const hole = common(box, other);
  if (!hole) return [box];
  return [
    { ...box, r1: hole.r0 - 1 }, { ...box, r0: hole.r1 + 1 },
    { c0: box.c0, c1: hole.c0 - 1, r0: hole.r0, r1: hole.r1 }, { c0: hole.c1 + 1, c1: box.c1, r0: hole.r0, r1: hole.r1 },
  ].filter(({ c0, c1, r0, r1 }) => c0 <= c1 && r0 <= r1);
}

function floor(a: bigint, b: bigint): bigint {
  return a / b - (a % b < 0n ? 1n : 0n);
}
