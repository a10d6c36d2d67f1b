// hyparquet. `best`: pages that cannot match are skipped by the file's indexes, and fetched ranges are kept.
import { asyncBufferFromUrl, cachedAsyncBuffer, parquetMetadataAsync, parquetQuery } from "hyparquet";
import { compressors } from "hyparquet-compressors";

export function sparse({ best }) {
  let file, metadata;
  return {
    ready: async () => {},
    open: async (url) => {
      file = await asyncBufferFromUrl({ url, ...(best ? { requestInit: { cache: "no-store" } } : {}) });
      if (best) file = cachedAsyncBuffer(file);
      metadata = await parquetMetadataAsync(file);
    },
    box: async ([left, right, top, bottom]) => {
      const filter = { x: { $gte: left, $lte: right }, y: { $gte: top, $lte: bottom } };
      const rows = await parquetQuery({ file, metadata, compressors, filter, columns: ["v"], ...(best ? { useOffsetIndex: true, usePageIndex: true } : {}) });
      return rows.map(({ v }) => v);
    },
  };
}
