// Recognizes arrays that are shown as tables. The page loads this file first, so it imports no heavy ones.
import type { Table } from "hyperslab";
import { arrayOf, type Opened } from "../opened";

/** Whether the cells are rows: points are those of two dimensions. */
export function isTable(opened: Opened): boolean {
  const array = arrayOf(opened);
  if (array?.kind === "sparse") return array.dims.filter(({ domain }) => domain).length < 2;
  // Dense arrays that are described as a table, such as those of pandas, and lists of records.
  return array?.dims.length === 1 && (tableOf(opened) !== undefined || array.attrs.length > 1 || array.attrs.some(({ type }) => /^(string_|char$)/.test(type)));
}

/** The description of the array's rows. */
export function tableOf({ dataset }: Opened): Table | undefined {
  return dataset.tables?.find(({ path }) => path === "");
}
