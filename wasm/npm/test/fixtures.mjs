// Schemas and cells of several tests.

/** Ten numbers in two tiles. */
export const line = {
  type: "dense",
  dims: [{ name: "i", type: "int32", domain: [0, 9], tile: 5 }],
  attrs: [{ name: "a", type: "int32", filters: ["zstd"] }],
};
/** The cells of `line`: 0 to 9. */
export const counted = Int32Array.from({ length: 10 }, (_, i) => i);

/** Points with a number. */
export const points = {
  type: "sparse",
  dims: [{ name: "x", type: "int64", domain: [0, 9999], tile: 100 }],
  attrs: [{ name: "v", type: "float64" }],
};
/** Points with a name and a number, ten in a tile. */
export const named = {
  type: "sparse",
  dims: [{ name: "x", type: "float64", domain: [0, 100], tile: 100 }],
  attrs: [{ name: "name", type: "string_utf8" }, { name: "v", type: "int32" }],
  capacity: 10,
};

/** A script for a page: sums the four cells of a new array as `sum`. */
export const use = `
  const array = await create(new MemoryStore(), { type: "dense",
    dims: [{ name: "i", type: "int64", domain: [0, 3], tile: 2 }], attrs: [{ name: "a", type: "int64" }] });
  await put(array, null, BigInt64Array.of(1n, 2n, 3n, 4n));
  const sum = (await get(await array.at(Infinity))).data.reduce((a, b) => a + b);
`;

/** Whether an error is about an argument and has this message. */
export const invalid = (message) => (error) => error.code === "InvalidArgument" && message.test(error.message);
