// How many points are read at most, so that they fit in memory.

/** The most points that are drawn. */
const POINTS_MAX = 5_000_000;
/** The most bytes of points in memory. */
const BYTES_MAX = 256 * 2 ** 20;
/** Bytes that the layer keeps of each point besides its fields: two coordinates of 64 bits, a value and a radius of 32. */
const DRAWN_BYTES = 24;

/** The most points with these fields, of one number each, that are read. */
export function pointsMax(fields: readonly { readonly type: string }[]): number {
  const bytes = fields.reduce((sum, { type }) => sum + widthOf(type), DRAWN_BYTES);
  return Math.min(POINTS_MAX, Math.floor(BYTES_MAX / bytes));
}

/** The bytes of a number of a type. Null values take another byte. */
function widthOf(type: string): number {
  const bits = /^(?:u?int|float)(\d+)$/.exec(type)?.[1];
  if (type === "bool") return 2;
  return (bits === undefined ? 8 : Number(bits) / 8) + 1;
}
