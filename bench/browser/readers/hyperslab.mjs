// Hyperslab: `pool` decodes in workers, `listing` is how fragments are found.
import { get, init, open, query } from "hyperslab";
import { Pool } from "hyperslab/pool";

export function dense({ pool, listing }) {
  let array;
  const http = { listing };
  return {
    ready: () => init(),
    open: async (url) => { array = await open(url, pool ? { http, pool: new Pool() } : { http }); },
    box: async (top, left, height, width, signal) => (await get(array, [[top, top + height - 1], [left, left + width - 1]], { signal })).data,
    cells: (places) => Promise.all(places.map(async ([y, x]) => (await get(array, [y, x])).data[0])),
  };
}

export function sparse({ pool }) {
  let array;
  return {
    ready: () => init(),
    open: async (url) => { array = await open(url, pool ? { pool: new Pool() } : {}); },
    box: async ([left, right, top, bottom]) => (await query(array, { ranges: { x: [left, right], y: [top, bottom] }, attrs: ["v"] }).columns()).columns.v.values,
  };
}
