// h5wasm in a page: it reads files that are fetched whole.
import h5wasm, { File } from "h5wasm";

export function dense() {
  let data;
  return {
    ready: () => h5wasm.ready,
    open: async (url) => {
      const { FS } = await h5wasm.ready;
      FS.writeFile("dense.h5", new Uint8Array(await (await fetch(url)).arrayBuffer()));
      data = new File("dense.h5", "r").get("v");
    },
    box: async (top, left, height, width) => data.slice([[top, top + height], [left, left + width]]),
    cells: async (places) => places.map(([y, x]) => data.slice([[y, y + 1], [x, x + 1]])[0]),
  };
}
