// The columns of a table: what an array stores, with what its description adds.
import type { Attr, Column, Dim, Table, TileArray, Value } from "hyperslab";

/** How cells of a column are read: this decides how they are compared, aligned and quoted in conditions. */
export type Sort = "integer" | "float" | "date" | "bool" | "text" | "category" | "bytes" | "list";

/** A column of a table. */
export interface Field {
  readonly name: string;
  /** TileDB's type. */
  readonly type: string;
  readonly sort: Sort;
  readonly dimension: boolean;
  readonly nullable: boolean;
  readonly unit?: string;
  /** The values of the enumeration that the cells are indices of. */
  readonly labels?: Column;
}

/** The fields of an array, dimensions first. Reads the enumerations. */
export async function fieldsOf(array: TileArray, table: Table | undefined): Promise<Field[]> {
  const dims = array.dims.map((dim: Dim) => ({ ...dim, nullable: false, dimension: true }));
  const attrs = array.attrs.map((attr: Attr) => ({ ...attr, dimension: false }));
  return Promise.all([...dims, ...attrs].map(async (field): Promise<Field> => {
    const { name, type, cell, nullable, dimension } = field;
    const enumeration = "enumeration" in field ? field.enumeration : undefined;
    const labels = enumeration === undefined ? undefined : await array.enumeration(name);
    const described = table?.columns.find((column) => column.name === name && !column.bits);
    const { unit, logical } = described ?? {};
    return {
      name, type, dimension, nullable,
      sort: labels ? "category" : sortOf(type, cell, logical),
      ...(unit ? { unit } : {}), ...(labels ? { labels } : {}),
    };
  }));
}

/** The sort of cells of a type, with `cell` values each. */
export function sortOf(type: string, cell: number | "var", logical?: string): Sort {
  if (/^string_|^char$|^geom_wkt$/.test(type)) return "text";
  if (/^(blob|any|geom_wkb)$/.test(type)) return "bytes";
  if (cell !== 1) return "list";
  if (type === "bool" || (logical === "bool" && type === "uint8")) return "bool";
  if (/^(datetime|time)_/.test(type)) return "date";
  return type.startsWith("float") ? "float" : "integer";
}

/** The value of a cell: for a category its label, `null` if it has none. */
export function valueOf(field: Field, value: Value): Value {
  if (field.sort === "bool" && typeof value === "number") return value !== 0;
  if (!field.labels || value === null) return value;
  const index = Number(value);
  return index >= 0 && index < field.labels.length ? field.labels.at(index) : null;
}
