import { check } from "./arguments.js";
import { HyperslabError } from "./errors.js";
import { fill, writable, type Store, type StoreEntry, type StoreOptions } from "./store.js";

// Types that TypeScript's DOM library lacks.
type Entries = AsyncIterable<[string, FileSystemHandle]>;
type Movable = FileSystemFileHandle & { move?(parent: FileSystemDirectoryHandle, name: string): Promise<void> };
type Picker = (options: { mode: "read" | "readwrite" }) => Promise<FileSystemDirectoryHandle>;
type Dropped = DataTransferItem & { getAsFileSystemHandle?(): Promise<FileSystemHandle | null> };

/** The files in a directory handle of the browser: a folder on the user's disk, or in the page's own storage. */
export class DirectoryStore implements Store {
  /** Handles come from the browser. `pick`, `fromDrop` and `OpfsStore.open` get one and make a store. */
  constructor(
    /** The folder. */
    readonly root: FileSystemDirectoryHandle,
  ) {
    check({ root });
  }

  /**
   * Lets the user pick a folder. Call it from a click or key handler, as browsers require. To write, use
   * `mode: "readwrite"`. Fails with the code `Unsupported` in browsers that cannot pick folders.
   */
  static async pick(options: { mode?: "read" | "readwrite" } = {}): Promise<DirectoryStore> {
    check<{ mode: string }>({ options }, { mode: 1 });
    const { mode = "read" } = options;
    const picker = (globalThis as { showDirectoryPicker?: Picker }).showDirectoryPicker;
    if (!picker) throw unsupported("pick folders; use `DirectoryStore.fromFiles` with an <input type=file webkitdirectory>");
    return new DirectoryStore(await picker.call(globalThis, { mode }));
  }

  /** The first folder among dropped items. Call it in the event handler before any `await`. */
  static async fromDrop(items: Iterable<DataTransferItem>): Promise<DirectoryStore> {
    check({ items });
    const handles = await Promise.all(Array.from(items, (item) => (item as Dropped | null)?.getAsFileSystemHandle?.()));
    const folder = handles.find((handle) => handle?.kind === "directory");
    if (!folder) throw new HyperslabError("NotFound", "no folder was dropped; drop the folder of an array");
    return new DirectoryStore(folder as FileSystemDirectoryHandle);
  }

  /** The files of an `<input type=file webkitdirectory>`, read-only. Works in desktop browsers. */
  static fromFiles(files: Iterable<File>): Store {
    check({ files });
    // The first part of each path is the name of the chosen folder.
    const byKey = new Map(Array.from(files, (file) => [((file as File | null)?.webkitRelativePath ?? "").split("/").slice(1).join("/"), file] as const));
    return {
      get: async (key) => bytes(byKey.get(key)),
      getRange: async (key, range) => part(byKey.get(key), range),
      getSize: (key) => byKey.get(key)?.size,
      list: (prefix) => Array.from(byKey, ([key, { size }]) => ({ key, size })).filter(({ key }) => key.startsWith(prefix)),
    };
  }

  /** The bytes of a file. `undefined` if it does not exist. */
  async get(key: string): Promise<Uint8Array | undefined> {
    return bytes(await this.file(key));
  }

  /** `length` bytes from `offset`; fewer at the end of the file. */
  async getRange(key: string, range: { offset: number; length: number }): Promise<Uint8Array | undefined> {
    return part(await this.file(key), range);
  }

  /** The size of a file in bytes. */
  async getSize(key: string): Promise<number | undefined> {
    return (await this.file(key))?.size;
  }

  /** The files and folders directly in a folder. Hidden files are not listed. */
  async list(prefix: string): Promise<StoreEntry[]> {
    const folder = await this.folder(prefix.split("/").filter(Boolean), false);
    const found: StoreEntry[] = [];
    for await (const [name, { kind }] of folder ? (folder as unknown as Entries) : []) {
      if (!name.startsWith(".")) found.push({ key: prefix + name, dir: kind === "directory" });
    }
    return found;
  }

  /** Writes a file atomically. Fails with the code `Unsupported` in browsers without `createWritable`, such as Safari before 26. */
  async set(key: string, content: Uint8Array, options?: StoreOptions & { ifNoneMatch?: "*" }): Promise<void> {
    await fill(await this.createWritable(key, options), content);
  }

  /** Writes a file in parts. It becomes visible when the stream is closed. */
  async createWritable(key: string, options?: { ifNoneMatch?: "*" }): Promise<WritableStream<Uint8Array>> {
    const { folder, name } = await this.parent(key, true);
    if (!folder) throw new HyperslabError("Io", `${key}: cannot create its folder; a file may have that name`);
    // In the root, because other TileDB readers expect only their own files in an array's folders.
    const temporary = `.hyperslab-${crypto.randomUUID()}.tmp`;
    const made: Movable = await this.root.getFileHandle(temporary, { create: true });
    const remove = async () => void (await ifPresent(this.root.removeEntry(temporary)));
    // Safari before 26 has no such method.
    if (!("createWritable" in made)) {
      await remove();
      throw unsupported("write files to folders or to the page's own storage; write to a MemoryStore");
    }
    const out = await made.createWritable();
    const place = async () => {
      if (options?.ifNoneMatch && (await ifPresent(folder.getFileHandle(name)))) {
        throw new HyperslabError("AlreadyExists", `${key}: already exists`);
      }
      if (made.move) return made.move(folder, name);
      const copy = await (await folder.getFileHandle(name, { create: true })).createWritable();
      await copy.write(await made.getFile());
      await copy.close();
      return remove();
    };
    return writable({
      write: async (bytes) => out.write(bytes as Uint8Array<ArrayBuffer>),
      close: async () => {
        await out.close();
        // Two tabs may write the same name at the same time.
        await (globalThis.navigator?.locks ? navigator.locks.request(`hyperslab ${key}`, place) : place());
      },
      abort: async () => {
        await out.abort().catch(() => {});
        await remove();
      },
    });
  }

  /** Removes a file or an empty folder. Does nothing if it does not exist. */
  async delete(key: string): Promise<void> {
    const { folder, name } = await this.parent(key, false);
    await ifPresent(folder?.removeEntry(name));
  }

  private async file(key: string): Promise<File | undefined> {
    const { folder, name } = await this.parent(key, false);
    return (await ifPresent(folder?.getFileHandle(name)))?.getFile();
  }

  private async parent(key: string, create: boolean): Promise<{ folder: FileSystemDirectoryHandle | undefined; name: string }> {
    const parts = key.split("/");
    const name = parts.pop() ?? "";
    return { folder: await this.folder(parts, create), name };
  }

  private async folder(parts: readonly string[], create: boolean): Promise<FileSystemDirectoryHandle | undefined> {
    let folder: FileSystemDirectoryHandle | undefined = this.root;
    for (const part of parts) folder = await ifPresent(folder?.getDirectoryHandle(part, { create }));
    return folder;
  }
}

/** Files in the page's own storage (OPFS), which persists when the page is closed. */
export class OpfsStore extends DirectoryStore {
  /** Opens the folder at `path`; creates it if it does not exist. */
  static async open(path = ""): Promise<OpfsStore> {
    check({ path });
    const storage = globalThis.navigator?.storage;
    if (!storage?.getDirectory) throw unsupported("store files here; serve the page over https");
    let folder = await storage.getDirectory();
    for (const part of path.split("/").filter(Boolean)) folder = await folder.getDirectoryHandle(part, { create: true });
    return new OpfsStore(folder);
  }
}

async function bytes(file: Blob | undefined): Promise<Uint8Array | undefined> {
  return file && new Uint8Array(await file.arrayBuffer());
}

async function part(file: Blob | undefined, { offset, length }: { offset: number; length: number }): Promise<Uint8Array | undefined> {
  return bytes(file?.slice(offset, offset + length));
}

/** `undefined` if there is no such file or folder, or if it is of the other kind. */
async function ifPresent<T>(found: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof DOMException && (error.name === "NotFoundError" || error.name === "TypeMismatchError")) return undefined;
    throw error;
  }
}

function unsupported(what: string): HyperslabError {
  return new HyperslabError("Unsupported", `this browser cannot ${what}`);
}
