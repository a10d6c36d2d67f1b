// The entry point that contains the engine, for bundlers that copy no files and for pages that load one file.
export * from "./api.js";
export { Pool, type PoolOptions } from "./pool.js";
