// A row or a point in a form: the texts at the start, and the stored values that they show.
import type { Value } from "hyperslab";
import type { Field } from "../table/field";
import { valueOf } from "../table/field";
import { enteredText, parseCell, type Written } from "./parse";

export interface Draft {
  readonly fields: readonly Field[];
  /** The texts at the start, by field. */
  readonly texts: ReadonlyMap<string, string>;
  /** The stored values of a row that exists. A new row has none. */
  readonly stored: ReadonlyMap<string, Value> | undefined;
}

/** A draft of a row that exists. Fails if a field was not read. */
export function draftOf(fields: readonly Field[], cell: (name: string) => Value | undefined): Draft {
  const stored = new Map(fields.map(({ name }) => {
    const value = cell(name);
    if (value === undefined) throw new Error(`${name || "A field"} was not read. Choose the row again.`);
    return [name, value] as const;
  }));
  return { fields, stored, texts: textsOf(fields, (name) => stored.get(name)) };
}

/** A draft of a new row. `known` has the values to start with. */
export function newDraft(fields: readonly Field[], known: Readonly<Record<string, Value>> = {}): Draft {
  return { fields, stored: undefined, texts: textsOf(fields, (name) => known[name]) };
}

function textsOf(fields: readonly Field[], cell: (name: string) => Value | undefined): Map<string, string> {
  return new Map(fields.map((field) => {
    const value = cell(field.name);
    return [field.name, value === undefined ? "" : enteredText(field, valueOf(field, value))] as const;
  }));
}

/** The cell to write for a field. If its text did not change, the stored value, because a text may not show all of it. */
export function cellOf({ texts, stored }: Draft, field: Field, entered: ReadonlyMap<string, string>): Written {
  const text = entered.get(field.name) ?? "";
  const value = stored?.get(field.name);
  return value === undefined || text !== texts.get(field.name) ? parseCell(field, text) : kept(field, value);
}

function kept({ name }: Field, value: Value): Written {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "string" && value.includes("\uFFFD")) throw new Error(`${name || "The field"}: the stored text has characters that cannot be read, so it cannot be written again unchanged. Enter a new text.`);
  return value;
}
