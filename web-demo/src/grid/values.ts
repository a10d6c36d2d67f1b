// What stored values of a variable mean: missing, packed, labels.
import type { TileArray, Variable } from "hyperslab";
import * as text from "../text";

/** Stored values that mean "no data". */
export type Missing = readonly (number | bigint)[];

/** How stored values of a variable become what people read. */
export interface Meaning {
  readonly datatype: string;
  readonly missing: Missing;
  /** The fill value of the attribute, which cells have that nobody wrote. `undefined` if it is an ordinary value. */
  readonly fill: number | bigint | undefined;
  /** The ends of valid stored values; others mean "no data". */
  readonly valid: readonly [number | bigint, number | bigint] | undefined;
  readonly scale: number;
  readonly offset: number;
  readonly unit: string;
  /** The label of a stored index or class. `undefined` if values have no labels. */
  label?: ((value: number) => string | undefined) | undefined;
}

/** The meaning of a variable's values. Reads the enumeration, if it has one. */
export async function meaningOf(variable: Variable, array: TileArray): Promise<Meaning> {
  const { datatype, packing, missing, unit = "", attribute, flags = [] } = variable;
  const fill = fillOf(array, attribute);
  const listed = (missing?.values ?? []).map((value) => stored(value, datatype)).filter((value) => value !== undefined);
  const [low, high] = [missing?.valid_min, missing?.valid_max].map((end) => stored(end, datatype));
  const valid = low === undefined && high === undefined ? undefined : [low ?? -Infinity, high ?? Infinity] as const;
  const base = { datatype, valid, missing: [...(fill === undefined ? [] : [fill]), ...listed], fill, scale: packing?.scale ?? 1, offset: packing?.offset ?? 0, unit };
  const enumeration = array.attrs.find(({ name }) => name === attribute)?.enumeration;
  if (enumeration !== undefined) {
    const labels = await array.enumeration(attribute);
    return { ...base, label: (value) => (value >= 0 && value < labels.length ? text.value(labels.at(value), labels.type) : `${value} (not in the enumeration)`) };
  }
  const meanings = new Map(flags.filter(({ mask, meaning }) => mask === undefined && meaning !== "").map(({ value, meaning }) => [Number(value), meaning]));
  return meanings.size > 0 ? { ...base, label: (value) => meanings.get(value) } : base;
}

/** Whether a stored value means "no data". */
export function isNoData(value: number | bigint | null | undefined, { missing, valid }: Pick<Meaning, "missing" | "valid">): value is null | undefined {
  return value === null || value === undefined || value !== value || missing.includes(value) || (valid !== undefined && (value < valid[0] || value > valid[1]));
}

/** The unpacked number of a stored value; NaN for no data. */
export function numberOf(value: number | bigint | null | undefined, meaning: Pick<Meaning, "missing" | "valid" | "scale" | "offset">): number {
  return isNoData(value, meaning) ? NaN : Number(value) * meaning.scale + meaning.offset;
}

/** Whether stored values are packed. */
export function isPacked({ scale, offset }: Pick<Meaning, "scale" | "offset">): boolean {
  return scale !== 1 || offset !== 0;
}

/** The text for a stored value: unpacked, with its label or unit. */
export function valueText(value: number | bigint, { datatype, scale, offset, unit, label }: Meaning): string {
  const name = label?.(Number(value));
  if (name !== undefined) return name;
  if (isPacked({ scale, offset })) return withUnit(text.number(Number(value) * scale + offset), unit);
  return withUnit(text.value(value, datatype), unit);
}

/** The text for an unpacked number, such as an end of the legend. */
export function numberText(value: number, { datatype, scale, offset, label }: Meaning): string {
  if (isPacked({ scale, offset })) return text.number(value);
  return label?.(value) ?? text.value(/^(u?int64|datetime|time)/.test(datatype) && Number.isInteger(value) ? BigInt(value) : value, datatype);
}

function withUnit(shown: string, unit: string): string {
  return unit && unit !== "1" ? `${shown} ${unit}` : shown;
}

/** The fill value of an attribute, from the schema. `undefined` if it is an ordinary value. */
function fillOf({ schema }: TileArray, attribute: string): number | bigint | undefined {
  const field = schema.attributes.find(({ name }) => name === attribute);
  const [type, fill] = [field?.type ?? "", field?.["fill"]];
  // With so few values, the default fill value is also an ordinary one, such as white in an image.
  if (type === "bool" || (type === "uint8" && fill === 255) || (type === "int8" && fill === -128)) return undefined;
  return fill === "NaT" ? -(2n ** 63n) : stored(fill, type);
}

/** Converts a number, or text of one, to the value that cells of `type` store. */
function stored(value: unknown, type: string): number | bigint | undefined {
  if (typeof value !== "number" && typeof value !== "bigint" && !(typeof value === "string" && value.trim() !== "")) return undefined;
  const number = Number(value);
  if (Number.isNaN(number)) return undefined;
  if (/^(u?int64$|datetime_|time_)/.test(type)) return /^-?\d+$/.test(String(value)) ? BigInt(value) : undefined;
  return type === "float32" ? Math.fround(number) : number;
}
