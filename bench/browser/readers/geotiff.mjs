// geotiff.js. `best`: decoding in workers.
import { fromUrl, Pool } from "geotiff";

export function dense({ best }) {
  let image;
  const pool = best ? new Pool() : undefined;
  const read = async (window, signal) => (await image.readRasters({ window, signal, ...(pool ? { pool } : {}), samples: [0], interleave: true }));
  return {
    ready: async () => {},
    open: async (url) => { image = await (await fromUrl(url, { allowFullFile: false })).getImage(); },
    box: (top, left, height, width, signal) => read([left, top, left + width, top + height], signal),
    cells: (places) => Promise.all(places.map(async ([y, x]) => (await read([x, y, x + 1, y + 1]))[0])),
  };
}
