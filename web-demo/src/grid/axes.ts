// The coordinates of a variable's axes as text.
import { get, type Axis, type TileArray } from "hyperslab";
import { openArray, type Opened } from "../opened";
import * as text from "../text";
import { cfTime } from "../time";

/** An axis with the coordinate of each position. Positions count from 0, whatever the dimension's domain. */
export interface LabelledAxis {
  readonly axis: Axis;
  readonly length: number;
  /** The coordinate in the array of the position 0. */
  readonly first: number;
  /** The dimension's coordinate at a position, in the type of the dimension. */
  coordinate(position: number): number | bigint;
  /** The value of the axis at a position, or between two; `undefined` if it has no number there. */
  value(position: number): number | undefined;
  /** The text of the value at a position. */
  text(position: number): string;
}

/** The longest axis whose stored coordinates are read. */
const STORED_MAX = 1_000_000;

/** Reads the coordinates of an axis, if they are stored in an array. */
export async function labelled(axis: Axis, array: TileArray, opened: Opened): Promise<LabelledAxis> {
  const dim = array.dims.find(({ name }) => name === axis.dimension);
  const first = axis.first ?? Number(dim?.domain?.[0] ?? 0);
  const length = axis.length ?? Number(dim?.domain?.[1] ?? 0) - first + 1;
  const { coordinates } = axis;
  const exact = exactFirst(first, axis, array);
  const coordinate = (position: number) => (typeof exact === "bigint" ? exact + BigInt(Math.round(position * (axis.stride ?? 1))) : exact + position * (axis.stride ?? 1));
  const base = { axis, length, first, coordinate };
  if (coordinates.type === "regular") return { ...base, ...formula(axis, coordinates) };
  if (coordinates.type === "array") {
    const values = length <= STORED_MAX ? await storedValues(coordinates, opened).catch(() => undefined) : undefined;
    if (values) return { ...base, ...listed(axis, values.data, values.type) };
    if (coordinates.regular) return { ...base, ...formula(axis, coordinates.regular) };
  }
  const type = dim?.type ?? "";
  return { ...base, value: (i) => first + i, text: (i) => (/^(date)?time_/.test(type) ? text.value(coordinate(i), type) : String(coordinate(i))) };
}

/** The first coordinate in the type of the dimension: descriptions round large ones. */
function exactFirst(first: number, { dimension }: Axis, array: TileArray): number | bigint {
  const index = array.dims.findIndex(({ name }) => name === dimension);
  const starts = [array.dims[index]?.domain?.[0], array.nonEmptyDomain()?.[index]?.[0]];
  if (typeof starts[0] !== "bigint") return first;
  return starts.find((start): start is bigint => typeof start === "bigint" && Number(start) === first) ?? BigInt(first);
}

function formula(axis: Axis, { start, step }: { start: number; step: number }): Pick<LabelledAxis, "value" | "text"> {
  const value = (i: number) => start + i * step;
  return { value, text: (i) => coordinateText(value(i), axis) };
}

function listed(axis: Axis, data: ArrayLike<unknown>, type: string): Pick<LabelledAxis, "value" | "text"> {
  const number = (i: number) => {
    const value = data[i];
    return typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;
  };
  const between = (i: number) => {
    const [below, above] = [number(Math.floor(i)), number(Math.ceil(i))];
    return below === undefined || above === undefined ? below : below + (above - below) * (i - Math.floor(i));
  };
  return {
    value: between,
    text: (i) => (/^(date)?time_|string|char/.test(type) ? text.value(data[i], type) : coordinateText(Number(data[i]), axis)),
  };
}

/** A coordinate with its unit; a time as a date. */
export function coordinateText(value: number, { unit = "", calendar }: Pick<Axis, "unit" | "calendar">): string {
  const date = cfTime(value, unit, calendar);
  if (date !== undefined) return date;
  const degrees = /^degrees?_(north|east|south|west|N|E)$/.exec(unit);
  if (degrees) return `${text.number(value)}°`;
  return unit && unit !== "1" ? `${text.number(value)} ${unit}` : text.number(value);
}

async function storedValues({ path, attribute }: { path: string; attribute: string }, opened: Opened): Promise<{ data: ArrayLike<unknown>; type: string } | undefined> {
  const array = await openArray(opened, path);
  const type = array.attrs.find(({ name }) => name === attribute)?.type ?? "";
  if (array.kind !== "dense" || array.dims.length !== 1) return undefined;
  const { data } = await get(array, [null], { attrs: attribute });
  return { data: data as ArrayLike<unknown>, type };
}
