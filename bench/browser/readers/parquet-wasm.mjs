// parquet-wasm: it reads whole row groups and offers no statistics to choose them by, so this reads three columns of the file.
import init, { ParquetFile } from "parquet-wasm/esm/parquet_wasm.js";
import { tableFromIPC } from "apache-arrow";

export function sparse() {
  let file;
  return {
    ready: () => init({ module_or_path: new URL("./parquet_wasm_bg.wasm", import.meta.url) }),
    open: async (url) => { file = await ParquetFile.fromUrl(url); },
    box: async ([left, right, top, bottom]) => {
      const table = tableFromIPC((await file.read({ columns: ["x", "y", "v"] })).intoIPCStream());
      const found = [];
      for (const batch of table.batches) {
        const [x, y, v] = ["x", "y", "v"].map((name) => batch.getChild(name).toArray());
        for (let i = 0; i < v.length; i += 1) if (x[i] >= left && x[i] <= right && y[i] >= top && y[i] <= bottom) found.push(v[i]);
      }
      return found;
    },
  };
}
