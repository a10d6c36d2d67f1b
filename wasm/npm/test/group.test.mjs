// Groups: members, metadata, and trees.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { copy, create, createGroup, get, HttpStore, kindOf, MemoryStore, open, put, putMembers, putMeta } from "hyperslab";
import { serve } from "./serve.mjs";

const store = new MemoryStore();
for (const path of ["one", "deep/two"]) {
  const dims = [{ name: "i", type: "int32", domain: [0, 3], tile: 2 }];
  const array = await create(store, { type: "dense", dims, attrs: [{ name: "a", type: "int32" }] }, { path, at: 1 });
  await put(array, null, Int32Array.of(1, 2, 3, path.length), { at: 2 });
}
const server = await serve(store);
after(() => server.close());

/** Creates a group with members, whose kind is `"array"` unless they have another. */
async function writeGroup(store, path, members) {
  await createGroup(store, { path });
  const all = Object.entries(members).map(([name, member]) => [name, { kind: "array", ...(typeof member === "string" ? { uri: member } : member) }]);
  if (all.length > 0) await putMembers(store, Object.fromEntries(all), { path, at: 1 });
}
await writeGroup(store, "", {
  first: "one", inner: { kind: "group", uri: "deep" }, lost: "nowhere", elsewhere: "file:///etc/array",
});
await putMeta(store, { count: 7 }, { at: 1 });
await writeGroup(store, "deep", { two: "two", itself: { kind: "group", uri: `${server.url}/deep` }, more: { kind: "group", uri: "more" } });
await writeGroup(store, "deep/more", {});

for (const [name, source] of [["in memory", store], ["over HTTP", server.url]]) {
  test(`a group ${name} has members, metadata and a place in the store`, async () => {
    const group = await open(source, { kind: "group" });
    assert.equal(group.kind, "group");
    assert.deepEqual(group.members.map(({ name, kind, uri, relative }) => [name, kind, uri, relative]), [
      ["elsewhere", "array", "file:///etc/array", false], ["first", "array", "one", true], ["inner", "group", "deep", true], ["lost", "array", "nowhere", true],
    ]);
    assert.deepEqual({ ...(await group.meta()) }, { count: 7 });
    assert.deepEqual([...(await get(await group.open("first"))).data], [1, 2, 3, 3]);
    const inner = await group.open("inner", { kind: "any" });
    assert.deepEqual([inner.kind, inner.path], ["group", "deep"]);
    assert.deepEqual([...(await get(await inner.open("two"))).data], [1, 2, 3, 8]);
    await assert.rejects(group.open("no"), (e) => e.code === "NotFound" && /no member 'no'; its members are elsewhere, first/.test(e.message));
  });
}

test("`kind` says what open expects", async () => {
  assert.equal((await open(store, { kind: "any" })).kind, "group");
  assert.equal((await open(store, { kind: "any", path: "one" })).kind, "dense");
  await assert.rejects(open(store), (e) => e.code === "NotFound" && /this is a group, not an array; open one of its members, or the group itself with \{ kind: "group" \}/.test(e.message));
  await assert.rejects(open(store, { kind: "group", path: "one" }), (e) => e.code === "NotFound");
  await assert.rejects(open(store, { kind: "any", path: "nowhere" }), (e) => e.code === "NotFound");
  await assert.rejects(open(store, { kind: "folder" }), (e) => e.code === "InvalidArgument");
  assert.equal(await kindOf(store), "group");
});

test("a group is opened as of a time, and so are its members", async () => {
  const group = await open(store, { kind: "group", at: 1 });
  assert.deepEqual((await group.open("first")).fragments(), []);
  assert.equal((await group.open("first", { at: 2 })).fragments().length, 1);
});

test("a tree names cycles and missing members", async () => {
  const { members, ...top } = await (await open(server.url, { kind: "group" })).tree();
  assert.deepEqual(top, { name: "", kind: "group", uri: "" });
  const [elsewhere, first, inner, lost] = members;
  assert.match(elsewhere.problem, /cannot be read from here/);
  assert.deepEqual(first, { name: "first", kind: "array", uri: "one" });
  assert.deepEqual(lost, { name: "lost", kind: "array", uri: "nowhere", problem: "nothing exists at nowhere" });
  assert.deepEqual(inner.members.map(({ name, kind, problem }) => [name, kind, problem]), [
    ["itself", "group", "the group contains itself"], ["more", "group", undefined], ["two", "array", undefined],
  ]);
});

test("a tree is bounded in depth and in members", async () => {
  const group = await open(store, { kind: "group" });
  const shallow = (await group.tree({ depth: 1 })).members.find(({ name }) => name === "inner");
  assert.deepEqual([shallow.members, shallow.problem], [undefined, "its members are deeper than `depth`"]);
  const cut = await group.tree({ limit: 2 });
  assert.deepEqual([cut.members.map(({ name }) => name), cut.problem], [["elsewhere", "first"], "2 more members are not shown; raise `limit`"]);
  await assert.rejects(group.tree({ signal: AbortSignal.abort() }), (e) => e.name === "AbortError");
});

test("a group that is reached twice is shown once", async () => {
  const twice = new MemoryStore();
  const { url, close } = await serve(twice);
  // 2^20 paths lead to the last group.
  for (let i = 0; i < 20; i += 1) await writeGroup(twice, `g${i}`, Object.fromEntries(["a", "b"].map((name) => [name, { kind: "group", uri: `${url}/g${i + 1}` }])));
  await writeGroup(twice, "g20", {});
  const { members: [a, b] } = await (await open(url, { kind: "group", path: "g0" })).tree({ depth: 100 });
  await close();
  assert.deepEqual([a.members?.length, b.problem], [2, "its members are shown elsewhere in the tree"]);
});

test("members elsewhere on the same origin are read with the headers and the signature of the group's store", async () => {
  const apart = new MemoryStore();
  const { url, close } = await serve(apart);
  await copy(store, apart, { path: "one" });
  await writeGroup(apart, "group", { near: `${url}/one`, inner: { kind: "group", uri: `${url}/other` } });
  await writeGroup(apart, "other", { near: `${url}/one` });
  const seen = [];
  const fetch = (request) => (seen.push([request.headers.get("X-Token"), request.headers.get("X-Signed")]), globalThis.fetch(request));
  const group = await open(new HttpStore(`${url}/group`, { headers: { "X-Token": "secret" }, sign: () => ({ "X-Signed": "yes" }), fetch }), { kind: "group" });
  const before = seen.length;
  for (const place of [group, await group.open("inner", { kind: "group" })]) assert.deepEqual([...(await get(await place.open("near"))).data], [1, 2, 3, 3]);
  assert.equal((await group.tree()).members[0].members[0].kind, "array");
  await close();
  assert.ok(seen.length > before);
  assert.ok(seen.every(([token, signed]) => token === "secret" && signed === "yes"), JSON.stringify(seen));
});

test("headers of a store are not sent to other hosts", async () => {
  const seen = [];
  const other = await serve(store);
  const group = new MemoryStore();
  await writeGroup(group, "", { far: `${other.url}/one` });
  const near = await serve(group);
  const own = globalThis.fetch;
  const signed = [];
  globalThis.fetch = (request) => (seen.push([new URL(request.url).origin, request.headers.get("X-Token")]), own(request));
  const sign = (url) => (signed.push(new URL(url).origin), {});
  try {
    const opened = await open(new HttpStore(near.url, { headers: { "X-Token": "secret" }, sign }), { kind: "group" });
    assert.deepEqual([...(await get(await opened.open("far"))).data], [1, 2, 3, 3]);
  } finally {
    globalThis.fetch = own;
    await Promise.all([near.close(), other.close()]);
  }
  assert.deepEqual(new Set(signed), new Set([near.url]));
  assert.ok(seen.some(([origin]) => origin === other.url), "the other host was asked");
  assert.ok(seen.every(([origin, token]) => (origin === near.url) === (token === "secret")), JSON.stringify(seen));
});
