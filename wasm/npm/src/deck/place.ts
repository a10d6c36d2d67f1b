// Where cells lie in the world: an affine map from positions along the drawn axes.

/**
 * Maps a position `(column, row)` in cells of the finest level to the world:
 * `x = m[0]·column + m[1]·row + m[2]`, `y = m[3]·column + m[4]·row + m[5]`. Position 0 is the outer edge of the first cell.
 */
export type Place = readonly [number, number, number, number, number, number];

/** Left, bottom, right and top: the smallest and largest `x` and `y`. */
export interface Rect {
  /** The smallest x. */
  x0: number;
  /** The smallest y. */
  y0: number;
  /** The largest x. */
  x1: number;
  /** The largest y. */
  y1: number;
}

export const IDENTITY: Place = [1, 0, 0, 0, 1, 0];

/** The world coordinates of a position. */
export function toWorld(m: Place, column: number, row: number): [number, number] {
  return [m[0] * column + m[1] * row + m[2], m[3] * column + m[4] * row + m[5]];
}

/** The inverse of a map. `undefined` if it has none. */
export function inverse([a, b, c, d, e, f]: Place): Place | undefined {
  const det = a * e - b * d;
  if (!Number.isFinite(det) || det === 0) return undefined;
  return [e / det, -b / det, (b * f - c * e) / det, -d / det, a / det, (c * d - a * f) / det];
}

/** The smallest rectangle around the image of a rectangle. */
export function image(m: Place, { x0, y0, x1, y1 }: Rect): Rect {
  const corners = [toWorld(m, x0, y0), toWorld(m, x1, y0), toWorld(m, x0, y1), toWorld(m, x1, y1)];
  const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
  return { x0: Math.min(...xs), y0: Math.min(...ys), x1: Math.max(...xs), y1: Math.max(...ys) };
}

/** The common part of two rectangles. `undefined` if it is empty. */
export function intersection(a: Rect, b: Rect): Rect | undefined {
  const both = { x0: Math.max(a.x0, b.x0), y0: Math.max(a.y0, b.y0), x1: Math.min(a.x1, b.x1), y1: Math.min(a.y1, b.y1) };
  return both.x0 < both.x1 && both.y0 < both.y1 ? both : undefined;
}

/** The parts of `whole` outside `hole`. */
function without(whole: Rect, hole: Rect): Rect[] {
  const both = intersection(whole, hole);
  if (!both) return [whole];
  const { x0, y0, x1, y1 } = whole;
  const parts = [
    { x0, y0, x1, y1: both.y0 }, { x0, y0: both.y1, x1, y1 },
    { x0, y0: both.y0, x1: both.x0, y1: both.y1 }, { x0: both.x1, y0: both.y0, x1, y1: both.y1 },
  ];
  return parts.filter((part) => part.x0 < part.x1 && part.y0 < part.y1);
}

/** The parts of `whole` outside all `holes`. */
export function uncovered(whole: Rect, holes: readonly Rect[]): Rect[] {
  return holes.reduce<Rect[]>((parts, hole) => parts.flatMap((part) => without(part, hole)), [whole]);
}
