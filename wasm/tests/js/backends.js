// Minimal stores with the interface of `Bridge`: in memory, over fetch, and one that never answers.

const coded = (code) => Object.assign(new Error(code), { code });

export class MemoryBackend {
  files = new Map();

  async read(path, start, end) { return this.files.get(path)?.subarray(start, end); }
  async readAll(path) { return this.files.get(path); }
  async size(path) { return this.files.get(path)?.length; }
  async put(path, bytes, over) {
    if (!over && this.files.has(path)) throw coded("AlreadyExists");
    this.files.set(path, bytes);
  }
  async remove(path) { this.files.delete(path); }
  parts = new Map();

  async begin(path) {
    this.parts.set(this.parts.size, { path, bytes: new Uint8Array() });
    return this.parts.size - 1;
  }
  async append(file, more) {
    const part = this.parts.get(file);
    part.bytes = new Uint8Array(await new Blob([part.bytes, more]).arrayBuffer());
  }
  async end(file, keep) {
    const { path, bytes } = this.parts.get(file);
    if (keep) await this.put(path, bytes, false);
  }
  async list(dir) {
    const prefix = dir === "" ? "" : `${dir}/`;
    const below = [...this.files].filter(([path]) => path.startsWith(prefix));
    return below.map(([path, bytes]) => {
      const [name, ...rest] = path.slice(prefix.length).split("/");
      return rest.length > 0 ? { name, dir: true } : { name, size: bytes.length };
    });
  }
}

export class FetchBackend {
  requests = 0;

  constructor(base) { this.base = base; }

  async get(path, headers, signal) {
    this.requests += 1;
    const url = `${this.base}/${path.split("/").map(encodeURIComponent).join("/")}`;
    const response = await fetch(url, { headers, signal, cache: "no-store" });
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`${url}: ${response.status}`);
    return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) };
  }
  async read(path, start, end, signal) {
    const got = await this.get(path, { Range: `bytes=${start}-${end - 1}` }, signal);
    return got?.status === 200 ? got.bytes.subarray(start, end) : got?.bytes;
  }
  async readAll(path, signal) { return (await this.get(path, {}, signal))?.bytes; }
  async size(path, signal) { return (await this.readAll(path, signal))?.length; }
  async list() { throw coded("Unsupported"); }
  async put() { throw coded("Unsupported"); }
  async remove() { throw coded("Unsupported"); }
}

/** Never answers. `aborted` counts the aborted calls. */
export class StuckBackend {
  aborted = 0;

  readAll(_path, signal) {
    return new Promise(() => signal.addEventListener("abort", () => { this.aborted += 1; }));
  }
}
