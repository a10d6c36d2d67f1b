// The entry point for browsers and workers. It fetches the engine from this module's folder.
export * from "./api.js";
