// The text of cells: as shown, and as exported.
import type { Value } from "hyperslab";
import * as text from "../text";
import type { Field } from "./field";

/** The maximum length of what is shown in a cell. */
const SHOWN_MAX = 300;
/** The maximum number of values of a list that are shown. */
const LIST_MAX = 20;

/** The text of a value, as shown in a cell. The value is that of `valueOf`. */
export function cellText(field: Pick<Field, "type" | "sort" | "labels">, value: Value, max = SHOWN_MAX): string {
  const all = fullText(field.labels ? { sort: "category", type: field.labels.type } : field, value, max);
  return all.length > max ? `${all.slice(0, max - 1)}…` : all;
}

function fullText({ sort, type }: Pick<Field, "type" | "sort">, value: Value, max: number): string {
  if (value === null) return "null";
  if (ArrayBuffer.isView(value)) return sort === "bytes" ? hex(value as unknown as Uint8Array, max) : list(value as unknown as ArrayLike<number | bigint>, type, LIST_MAX);
  if (typeof value === "boolean") return value ? "true" : "false";
  if (typeof value === "string") return value;
  if (/^(datetime|time)_/.test(type)) return text.value(value, type);
  return exactNumber(value, type);
}

/** The text of a value in a CSV or TSV file: exact, and empty for nulls. */
export function exportedText(field: Pick<Field, "type" | "sort" | "labels">, value: Value): string {
  if (value === null) return "";
  const type = field.labels?.type ?? field.type;
  if (ArrayBuffer.isView(value)) return field.sort === "bytes" ? hex(value as unknown as Uint8Array, Infinity) : list(value as unknown as ArrayLike<number | bigint>, type, Infinity);
  if (/^time_/.test(type)) return String(value);
  if (/^datetime_/.test(type)) return isNotATime(value) ? "" : text.value(value, type).replace(" ", "T");
  return fullText({ sort: field.sort, type }, value, Infinity);
}

/** The shortest text that gives the same number back. */
export function exactNumber(value: number | bigint, type: string): string {
  if (typeof value === "bigint" || type !== "float32" || !Number.isFinite(value)) return String(value);
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(Number(value.toPrecision(9)));
}

function isNotATime(value: Value): boolean {
  return value === -(2n ** 63n);
}

function list(values: ArrayLike<number | bigint>, type: string, max: number): string {
  const shown = Array.from({ length: Math.min(values.length, max) }, (_, i) => exactNumber(values[i] ?? 0, type));
  return `[${shown.join(", ")}${values.length > max ? `, … ${values.length} values` : ""}]`;
}

function hex(bytes: Uint8Array, max: number): string {
  const shown = bytes.subarray(0, Number.isFinite(max) ? Math.floor(max / 2) : bytes.length);
  return `0x${Array.from(shown, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** A line of a CSV (`,`) or TSV (tab) file, as RFC 4180 quotes it. */
export function line(cells: readonly string[], separator: "," | "\t"): string {
  return `${cells.map((cell) => (/["\n\r]/.test(cell) || cell.includes(separator) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(separator)}\r\n`;
}
