// zarrita. `best`: the version of the format is given, requests are merged and not stored in the browser's cache, and
// fetched bytes are kept, all of which its documentation offers.
import * as zarr from "zarrita";

const fresh = (request) => fetch(new Request(request, { cache: "no-store" }));

export function dense({ best }) {
  let array;
  return {
    ready: async () => {},
    open: async (url) => {
      if (!best) {
        array = await zarr.open(new zarr.FetchStore(url), { kind: "array" });
        return;
      }
      const store = zarr.withByteCaching(zarr.withRangeCoalescing(new zarr.FetchStore(url, { fetch: fresh, useSuffixRequest: true })));
      array = await zarr.open.v3(await store, { kind: "array" });
    },
    box: async (top, left, height, width, signal) => (await zarr.get(array, [zarr.slice(top, top + height), zarr.slice(left, left + width)], { signal })).data,
    cells: (places) => Promise.all(places.map(([y, x]) => zarr.get(array, [y, x]))),
  };
}
