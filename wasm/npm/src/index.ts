// The entry of browsers and workers: the engine is fetched from beside this module.
export * from "./api.js";
