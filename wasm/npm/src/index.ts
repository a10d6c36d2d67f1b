/**
 * Opens, reads and writes TileDB arrays, in pages, workers, Node, Bun and Deno. In browsers, this module fetches the
 * engine from its own folder. Start with {@link open}, {@link get} and {@link query}.
 *
 * @module hyperslab
 */
export * from "./api.js";
