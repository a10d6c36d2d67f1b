// The values along an axis that is not drawn, at one cell: a time series, a vertical profile.
import { get, type AxisSelection } from "hyperslab";
import type { LabelledAxis } from "./axes";
import type { Loaded } from "./model";
import { seriesOf, type Series } from "./series";

/** Values along an axis. */
export interface Profile {
  readonly axis: LabelledAxis;
  /** The place of the cell, such as "lat 15°, lon 180°". */
  readonly place: string;
  /** A value for each position. */
  readonly series: Series;
}

/** The longest axis along which values are read. */
export const PROFILE_MAX = 100_000;

/** Reads the values along an axis at a cell. The other axes stay where they are. */
export async function readProfile(loaded: Loaded, axis: LabelledAxis, cell: readonly [number, number], at: Readonly<Record<string, number>>, signal: AbortSignal): Promise<Profile> {
  const { levels, variable, x, y, others, meaning } = loaded;
  const array = levels[0]?.array;
  if (!array || axis.length > PROFILE_MAX) throw new Error(`${axis.axis.name} has ${axis.length} positions; values are read along axes of at most ${PROFILE_MAX}`);
  const [column, row] = cell;
  const whole = [axis.coordinate(0), axis.coordinate(axis.length - 1)] as AxisSelection;
  const selected = [x, ...(y ? [y] : []), ...others].map((one): [string, AxisSelection] => {
    const position = one === x ? column : one === y ? row : at[one.axis.dimension] ?? 0;
    return [one.axis.dimension, one === axis ? whole : one.coordinate(position)];
  });
  const { data, validity } = await get(array, Object.fromEntries(selected), { attrs: variable.attribute, signal });
  const cells = data as ArrayLike<number | bigint>;
  const stored = Array.from({ length: axis.length }, (_, i) => (validity?.[i] === 0 ? null : cells[i] ?? null));
  const series = seriesOf(stored, { label: (i) => axis.text(i), coordinates: (i) => [axis.coordinate(i)], columns: [axis.axis.dimension], meaning, name: variable.name });
  return { axis, series, place: [...(y ? [`${y.axis.name} ${y.text(row)}`] : []), `${x.axis.name} ${x.text(column)}`].join(", ") };
}
