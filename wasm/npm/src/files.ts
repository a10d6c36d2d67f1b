/**
 * What `hyperslab` has in Node in addition: files on the local disk. There, {@link hyperslab!open} and
 * {@link hyperslab!create} take paths too.
 *
 * @module hyperslab in Node
 */
import { randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { check } from "./arguments.js";
import { HyperslabError } from "./errors.js";
import { fill, writable, type Store, type StoreEntry } from "./store.js";

/** The files in a local folder. Node only. Hidden files are not listed. */
export class FileStore implements Store {
  /** The folder need not exist; the first write creates it. */
  constructor(
    /** The path of the folder. */
    readonly root: string,
  ) {
    check({ path: root });
  }

  /** @internal The folder's URL, as TileDB groups store it. */
  get location(): string {
    return `file://${resolve(this.root)}`;
  }

  /** The bytes of a file. `undefined` if it does not exist. */
  async get(key: string): Promise<Uint8Array | undefined> {
    return ifPresent(readFile(this.place(key)));
  }

  /** `length` bytes from `offset`; fewer at the end of the file. */
  async getRange(key: string, { offset, length }: { offset: number; length: number }): Promise<Uint8Array | undefined> {
    const file = await ifPresent(open(this.place(key)));
    if (!file) return undefined;
    try {
      const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, offset);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }

  /** The size of a file in bytes. */
  async getSize(key: string): Promise<number | undefined> {
    const found = await ifPresent(stat(this.place(key)));
    return found?.isFile() ? found.size : undefined;
  }

  /** The files and folders directly in a folder. */
  async list(prefix: string): Promise<StoreEntry[]> {
    const found = (await ifPresent(readdir(this.place(prefix), { withFileTypes: true }))) ?? [];
    const shown = found.filter(({ name }) => !name.startsWith("."));
    return shown.map((entry) => ({ key: prefix + entry.name, dir: entry.isDirectory() }));
  }

  /** Writes a file atomically. */
  async set(key: string, bytes: Uint8Array, options?: { ifNoneMatch?: "*" }): Promise<void> {
    await fill(await this.createWritable(key, options), bytes);
  }

  /** Writes a file in parts. It becomes visible when the stream is closed. */
  async createWritable(key: string, options?: { ifNoneMatch?: "*" }): Promise<WritableStream<Uint8Array>> {
    const place = this.place(key);
    // In the root, because other TileDB readers expect only their own files in an array's folders.
    const temporary = join(this.root, `.hyperslab-${randomUUID()}.tmp`);
    await mkdir(this.root, { recursive: true });
    const file = await open(temporary, "wx");
    return writable({
      write: async (bytes) => file.writeFile(bytes),
      close: async () => {
        await file.close();
        // After the write, because a full disk must not leave an empty folder, which would be half an array.
        await mkdir(dirname(place), { recursive: true });
        await (options?.ifNoneMatch ? link(temporary, place) : rename(temporary, place)).catch((error: NodeJS.ErrnoException) => {
          throw error.code === "EEXIST" ? new HyperslabError("AlreadyExists", `${key}: already exists`) : error;
        });
        await rm(temporary, { force: true });
      },
      abort: async () => {
        await file.close();
        await rm(temporary, { force: true });
      },
    });
  }

  /** Removes a file or an empty folder. Does nothing if it does not exist. */
  async delete(key: string): Promise<void> {
    const place = this.place(key);
    await rm(place, { force: true }).catch((error: { code?: string }) => {
      if (error.code !== "ERR_FS_EISDIR") throw error;
      return rmdir(place);
    });
  }

  /** The store of the folder `name` next to this one. `undefined` for the root of the disk. */
  beside(name: string): FileStore | undefined {
    const root = resolve(this.root);
    return dirname(root) === root || /^\.\.?$|[/\\]/.test(name) ? undefined : new FileStore(join(dirname(root), name));
  }

  private place(key: string): string {
    if (key.split("/").includes("..")) throw new HyperslabError("InvalidArgument", `${key}: outside the store; leave out '..'`);
    return join(this.root, key.replaceAll("/", sep));
  }
}

/** The result, or `undefined` if there is no such file. */
async function ifPresent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
