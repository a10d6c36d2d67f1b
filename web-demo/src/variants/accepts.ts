// What is shown as variant calls. This file is loaded with the page.
import { groupOf, type Opened } from "../opened";

/** Whether the group is one of TileDB-VCF. */
export function isVariants(opened: Opened): boolean {
  const { application, tables = [] } = opened.dataset;
  return groupOf(opened) !== undefined && application === "vcf" && tables.some(({ name }) => name === "data");
}
