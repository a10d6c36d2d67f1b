// The entry point for Node. It reads the engine from the disk, and opens arrays by path too.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { provideStores } from "./array.js";
import { packageFile } from "./disk.js";
import { provideWasm } from "./engine.js";
import { FileStore } from "./files.js";

provideWasm(async (_, file) => readFile(packageFile(`${file}.wasm`)));
provideStores((url) => {
  const text = String(url);
  if (text.startsWith("file:")) return new FileStore(fileURLToPath(text));
  return /^[a-z][a-z0-9+.-]+:/i.test(text) ? undefined : new FileStore(text);
});

export * from "./api.js";
export { FileStore };
