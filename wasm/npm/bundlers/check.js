// What every project of the matrix does: reads arrays over HTTP, writes one, mounts it and exports it, also as a zip file, alone and with workers.

/** Returns {@link EXPECTED} if all of it works. */
export async function check(hyperslab, Pool, data, options, zip) {
  const { create, get, MemoryStore, mount, open, put, query } = hyperslab;
  const sum = async (array) => (await get(array)).data.reduce((a, b) => a + b, 0);
  const read = (more) => Promise.all(["plain", "rare"].map(async (name) => sum(await open(`${data}/${name}`, { http: { listing: "manifest" }, ...more }))));
  const alone = await read({});
  const array = await create(new MemoryStore(), { type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 3], tile: 2 }], attrs: [{ name: "a", type: "int32" }] });
  await put(array, null, Int32Array.of(1, 2, 3, 4));
  const written = await sum(await array.at(Infinity));
  const files = (await mount(array).readDir()).length > 3;
  // The encoder of Arrow streams is a module that loads when it is used, which service workers do not allow.
  const arrow = "clients" in globalThis || (await new Response(query(array).arrow()).arrayBuffer()).byteLength > 100;
  const zipped = !zip || (await sum(await open(await zip.ZipStore.open(await new Response(zip.exportZip(array)).blob())))) === written;
  const others = files && arrow && zipped;
  if (!Pool) return [...alone, written, others];
  const pool = new Pool({ workers: 2, ...options });
  const pooled = await read({ pool });
  pool.close();
  return [...alone, written, others, ...pooled];
}

export const EXPECTED = [26, 260, 10, true, 26, 260];
