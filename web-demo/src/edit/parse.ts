// Turns entered text into values that the package writes, and coordinates into a condition that finds their row.
import type { TypedArray, Value } from "hyperslab";
import { exactNumber, exportedText } from "../table/cells";
import { quotedName } from "../table/complete";
import type { Field } from "../table/field";

/** A cell as `put` takes it. Dates and labels may be text. */
export type Written = number | bigint | string | TypedArray | readonly number[] | readonly bigint[] | null;

/** The text of a value in a form. The value comes from `valueOf`. */
export function enteredText(field: Field, value: Value): string {
  return exportedText(field, value);
}

/** A hint of what to enter for a field. */
export function hintOf({ sort, type, nullable }: Field): string {
  const hint = { integer: type, float: type, date: type.startsWith("datetime") ? `${type}, such as 2024-01-31` : type, bool: "true or false", text: "text", category: "one of the categories", bytes: "0x and hexadecimal digits", list: `${type}, such as [1, 2]` }[sort];
  return nullable ? `${hint}; leave it empty for null` : hint;
}

/** The cell of an entered text. Fails if it does not fit the field. */
export function parseCell(field: Field, entered: string): Written {
  const { name, sort, type, nullable, labels } = field;
  const wrong = (): never => { throw new Error(`${name || "The field"}: '${entered}' does not fit. Enter ${hintOf(field)}.`); };
  const text = entered.trim();
  if (nullable && text === "") return null;
  switch (sort) {
    case "text": return entered;
    case "category": return labelOf(labels, text) ?? wrong();
    case "bool": return /^(true|1)$/i.test(text) ? 1 : /^(false|0)$/i.test(text) ? 0 : wrong();
    case "date": return type.startsWith("datetime_") && text !== "" ? text : /^-?\d+$/.test(text) ? BigInt(text) : wrong();
    case "bytes": return /^0x([0-9a-f]{2})*$/i.test(text) ? Uint8Array.from(text.slice(2).match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)) : wrong();
    case "list": return /^\[.*\]$/s.test(text) ? (text.slice(1, -1).split(",").map((part) => part.trim()).filter(Boolean).map((part) => numberOf(type, part) ?? wrong()) as readonly number[]) : wrong();
    default: return numberOf(type, text) ?? wrong();
  }
}

/** A number in the type of a field. `undefined` if the text is not such a number. */
function numberOf(type: string, text: string): number | bigint | undefined {
  if (type.startsWith("float")) return text === "" || (Number.isNaN(Number(text)) && !/^nan$/i.test(text)) ? undefined : Number(text);
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const [, sign = "", bits = "64"] = /^(u?)int(\d+)$/.exec(type) ?? [];
  const value = BigInt(text.replace(/^\+/, ""));
  const span = 2n ** BigInt(sign ? bits : Number(bits) - 1);
  if (value >= span || value < (sign ? 0n : -span)) return undefined;
  return bits === "64" ? value : Number(value);
}

/** The entered label, or its index if labels are not text. `undefined` if there is no such label. */
function labelOf(labels: Field["labels"], text: string): string | number | undefined {
  for (let i = 0; i < (labels?.length ?? 0); i += 1) if (String(labels?.at(i)) === text) return typeof labels?.at(i) === "string" ? text : i;
  return undefined;
}

/** The condition that the cells at some coordinates meet. The values come from `valueOf`. */
export function conditionOf(dims: readonly Field[], values: readonly Value[]): string {
  return dims.map((dim, i) => `${quotedName(dim.name)} == ${literal(dim, values[i] ?? null)}`).join(" and ");
}

function literal(field: Field, value: Value): string {
  // Dates too: as text, a date that ends with the minute would match the whole minute.
  if (typeof value === "number" || typeof value === "bigint") return exactNumber(value, field.type);
  if (typeof value !== "string" || value.includes("\uFFFD")) throw new Error(`${field.name}: the coordinate cannot be read, so this row cannot be deleted alone. Enter a condition, and delete all rows that meet it.`);
  return `'${value.replaceAll("'", "''")}'`;
}
