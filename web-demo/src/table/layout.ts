// The widths of columns, and which of them are visible.
import type { Field } from "./field";

/** Roughly the width of a character of 13 px. */
const CHARACTER_PX = 8.8;
const [NARROWEST_PX, WIDEST_PX] = [72, 420];
const PADDING_PX = 24;

/** A column on the screen. */
export interface Placed { field: Field; index: number; left: number; width: number }

/** The width that fits a column's name, its type and these texts. */
export function widthOf(field: Field, texts: readonly string[]): number {
  const longest = Math.max(field.name.length + 2, subtitle(field).length * 0.85, ...texts.map(({ length }) => length));
  return Math.round(Math.max(NARROWEST_PX, Math.min(WIDEST_PX, longest * CHARACTER_PX + PADDING_PX)));
}

/** What is said below the name of a column. */
export function subtitle({ type, labels, unit }: Field): string {
  return `${labels ? `enumeration of ${labels.length}` : type}${unit ? ` · ${unit}` : ""}`;
}

/** The width of the numbers of rows. */
export function gutterOf(rows: number): number {
  return Math.round(rows.toLocaleString("en").length * CHARACTER_PX + PADDING_PX);
}

/** The columns side by side, after the numbers of rows. */
export function placed(fields: readonly Field[], widths: readonly number[], gutter: number): Placed[] {
  let left = gutter;
  return fields.map((field, index) => {
    const width = widths[index] ?? NARROWEST_PX;
    const column = { field, index, left, width };
    left += width;
    return column;
  });
}

/** The columns in a horizontal range of pixels. */
export function visible(columns: readonly Placed[], from: number, to: number): Placed[] {
  return columns.filter(({ left, width }) => left + width > from && left < to);
}

/** Whether the cells are aligned right. */
export function isNumeric({ sort }: Field): boolean {
  return sort === "integer" || sort === "float";
}
