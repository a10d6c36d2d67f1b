// Reads the columns of an experiment: one value for each observation.
import { query, type Embedding, type Table, type TileArray } from "hyperslab";
import type { Field } from "../table/field";
import { colouringOf, type Colouring } from "./colouring";
import { nameColumns, type Layer } from "./experiment";
import { Positions } from "./positions";

/** The column that identifies observations and genes. */
export const ID = "soma_joinid";

/** A gene: its column in the matrices, and its names. */
export interface Gene { readonly id: number; readonly names: readonly string[] }

/** The identifiers of the observations, in the order of the rows. */
export async function readPositions(obs: TileArray, signal: AbortSignal): Promise<Positions> {
  const { columns } = await query(obs, { attrs: [ID], order: "row", signal }).columns();
  const ids = columns[ID]?.values;
  if (!ids) throw new Error(`the table of observations has no column ${ID}`);
  return new Positions(ids as ArrayLike<number | bigint>);
}

/** A column of the table of observations, in the order of the rows. */
export async function readColumn(obs: TileArray, field: Field, signal: AbortSignal): Promise<Colouring> {
  const column = (await query(obs, { attrs: [field.name], order: "row", signal }).columns()).columns[field.name];
  if (!column) throw new Error(`the table of observations has no column ${field.name}`);
  return colouringOf(field, column);
}

/** The first two components of a position for each observation; NaN where it has none. */
export async function readMap(array: TileArray, { rows, components, attribute }: Embedding, positions: Positions, signal: AbortSignal): Promise<Float32Array> {
  const points = new Float32Array(positions.length * 2).fill(NaN);
  for await (const { length, columns } of query(array, { ranges: { [components]: [0, 1] }, attrs: [rows, components, attribute], signal })) {
    const [row, component, value] = [rows, components, attribute].map((name) => columns[name]?.values as ArrayLike<number | bigint>);
    for (let i = 0; i < length; i += 1) {
      const at = positions.rowOf(row?.[i] ?? -1);
      if (at >= 0) points[at * 2 + Number(component?.[i])] = Number(value?.[i]);
    }
  }
  return points;
}

/** The values of a gene for each observation. Those that the matrix does not have are 0. */
export async function readGene(array: TileArray, { rows, columns: genes, variable }: Layer, gene: number, positions: Positions, signal: AbortSignal): Promise<Float32Array> {
  const values = new Float32Array(positions.length);
  for await (const { length, columns } of query(array, { ranges: { [genes]: [gene, gene] }, attrs: [rows, variable.attribute], signal })) {
    const [row, value] = [rows, variable.attribute].map((name) => columns[name]?.values as ArrayLike<number | bigint>);
    for (let i = 0; i < length; i += 1) {
      const at = positions.rowOf(row?.[i] ?? -1);
      if (at >= 0) values[at] = Number(value?.[i]);
    }
  }
  return values;
}

/** The genes of a layer, in the order of their columns. */
export async function readGenes(array: TileArray, table: Table, signal: AbortSignal): Promise<Gene[]> {
  const names = nameColumns(table);
  const { length, columns } = await query(array, { attrs: [ID, ...names], order: "row", signal }).columns();
  const ids = columns[ID];
  return Array.from({ length }, (_, i) => {
    const known = names.map((name) => columns[name]?.at(i)).filter((name) => typeof name === "string" && name !== "") as string[];
    const id = Number(ids?.at(i));
    return { id, names: known.length > 0 ? [...new Set(known)] : [String(id)] };
  });
}

/** The genes with a name that contains what was typed: equal names first, then those that start with it. */
export function findGenes(genes: readonly Gene[], typed: string, max: number): Gene[] {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "") return genes.slice(0, max);
  const ranks: Gene[][] = [[], [], []];
  for (const gene of genes) {
    const rank = Math.min(...gene.names.map((name) => {
      const at = name.toLowerCase().indexOf(wanted);
      return at < 0 ? 3 : at > 0 ? 2 : name.length === wanted.length ? 0 : 1;
    }));
    ranks[rank]?.push(gene);
  }
  return ranks.flat().slice(0, max);
}
