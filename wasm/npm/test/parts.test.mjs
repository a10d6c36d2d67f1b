// Every function works as the first one that a program calls, when only the core of the engine is loaded.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { create, put } from "hyperslab";

const here = fileURLToPath(new URL("..", import.meta.url));
let folder;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "hyperslab-parts-"));
  const dims = [{ name: "i", type: "int32", domain: [0, 9], tile: 5 }];
  const attrs = (filters) => [{ name: "a", type: "int32", filters }];
  const key = new Uint8Array(32).fill(7);
  const dense = await create(join(folder, "dense"), { type: "dense", dims, attrs: attrs([]) }, { at: 1 });
  for (const at of [2, 3]) await put(dense, null, new Int32Array(10).fill(at), { at });
  const sparse = await create(join(folder, "sparse"), { type: "sparse", dims, attrs: attrs([]) }, { at: 1 });
  await put(sparse, null, { i: Int32Array.of(1, 2), a: Int32Array.of(3, 3) }, { at: 2 });
  await put(await create(join(folder, "packed"), { type: "dense", dims, attrs: attrs(["bzip2"]) }, { at: 1 }), null, new Int32Array(10).fill(3), { at: 2 });
  await put(await create(join(folder, "secret"), { type: "dense", dims, attrs: attrs([]) }, { at: 1, key }), null, new Int32Array(10).fill(3), { at: 2 });
});
after(() => rm(folder, { recursive: true }));

/** The result of each first call. `a` is the array of the folder that is named first. */
const CALLS = {
  consolidate: ["dense", "(await h.consolidate(a)).length", 1],
  vacuum: ["dense", "(await h.vacuum(a)).length", 0],
  writeManifest: ["dense", "String(await h.writeManifest(a))", "undefined"],
  put: ["dense", "(await h.put(a, null, new Int32Array(10))).cells", 10],
  "put with a text": ["dense", "(await h.put(a, '0:10', new Int32Array(10))).cells", 10],
  "get with a text": ["dense", "(await h.get(a, '3:5')).data.join()", "3,3"],
  describe: ["dense", "(await h.describe(a)).variables[0].name", "a"],
  levels: ["dense", "(await h.levels(a))[0].shape.join()", "10"],
  mount: ["dense", "(await h.mount(a).readDir()).length > 3", true],
  asZarrita: ["dense", "(await h.asZarrita(a).get('/zarr.json')).length > 9", true],
  deleteCells: ["sparse", "typeof await h.deleteCells(a, 'a > 2')", "string"],
  countDeleted: ["sparse", "(await h.deleteCells(a, 'a > 2', { dryRun: true })).cells", 2],
  count: ["sparse", "await h.query(a, { where: 'a > 2' }).count()", 2],
  bzip2: ["packed", "(await h.get(a, [[0, 1]])).data.join()", "3,3"],
  encryption: ["secret", "(await h.get(a, [[0, 1]])).data.join()", "3,3"],
  create: ["", "(await h.create(place + '/new', { type: 'dense', dims: [{ name: 'i', type: 'int32', domain: [0, 9] }], attrs: [{ name: 'a', type: 'int32' }] })).kind", "dense"],
  kindOf: ["", "await h.kindOf(place + '/dense')", "array"],
  "open a group": ["", "await h.open(place + '/dense', { kind: 'group' }).catch((e) => e.name)", "HyperslabError"],
  explain: ["dense", "(await a.explain()).tiles", 2],
  "mount of a folder": ["", "(await h.mount(place).readDir()).some(({ name }) => name === 'dense')", true],
};

for (const [name, [array, call, expected]] of Object.entries(CALLS)) {
  for (const pooled of array === "" ? [false] : [false, true]) {
    test(`the first call may be ${name}${pooled ? ", with a pool" : ""}`, async () => {
      // Calls may write, so each has a folder of its own.
      const place = join(folder, `${name} ${pooled}`);
      for (const kept of ["dense", array].filter(Boolean)) await cp(join(folder, kept), join(place, kept), { recursive: true });
      const script = `
        import * as h from "hyperslab";
        import { Pool } from "hyperslab/pool";
        const place = ${JSON.stringify(place)}, array = ${JSON.stringify(array)};
        const pool = ${pooled} ? new Pool({ workers: 1 }) : undefined;
        const key = array === "secret" ? { key: new Uint8Array(32).fill(7) } : {};
        const a = array && (await h.open(place + "/" + array, { ...key, ...(pool ? { pool } : {}) }));
        console.log(JSON.stringify(${call}));
        pool?.close();`;
      const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { cwd: here });
      assert.deepEqual(JSON.parse(stdout), expected);
    });
  }
}

test("a file of another build is refused", async () => {
  const script = `
    import { readFileSync } from "node:fs";
    import { create, init, MemoryStore } from "hyperslab";
    // The name under which a file imports the memory of its build.
    const write = readFileSync("dist/write.wasm");
    const at = write.indexOf("memory-") + "memory-".length;
    write[at] = write[at] === 48 ? 49 : 48;
    await init({ write });
    const schema = { type: "dense", dims: [{ name: "i", type: "int32", domain: [0, 9] }], attrs: [{ name: "a", type: "int32" }] };
    console.log(await create(new MemoryStore(), schema).catch((e) => e.code + ": " + e.message));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { cwd: here });
  assert.match(stdout, /^Unsupported: write\.wasm and core\.wasm are of different releases .*; copy all files of one release/);
});
