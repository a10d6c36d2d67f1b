// Next.js: a server component and a client component.
import assert from "node:assert/strict";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { titles } from "../test/titles.mjs";
import { EXPECTED } from "./check.js";
import { dataServer, filesOf, hasEngineOnce, project, started, tool } from "./projects.mjs";

const data = await dataServer();
after(() => data.close());

const files = {
  "app/layout.js": `export default ({ children }) => <html><body>{children}</body></html>;`,
  "app/page.js": `
    import * as hyperslab from "hyperslab";
    import { Pool } from "hyperslab/pool";
    import { check } from "../check.js";
    import { Client } from "./client.js";
    export const dynamic = "force-dynamic";
    export default async function Page() {
      const found = await check(hyperslab, Pool, "${data.url}").catch((e) => [e.code, e.message]);
      return <Client found={found} />;
    }`,
  "app/client.js": `
    "use client";
    import * as hyperslab from "hyperslab";
    import { Pool } from "hyperslab/pool";
    import { useEffect } from "react";
    import { check } from "../check.js";
    export function Client({ found }) {
      useEffect(() => {
        check(hyperslab, Pool, "${data.url}").catch((e) => [e.code, e.message]).then((own) => { document.title = JSON.stringify([found, own]); });
      }, []);
      return "…";
    }`,
  "app/icon.svg": `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`,
  "next.config.js": `export default { turbopack: { root: import.meta.dirname } };`,
};
const tools = { next: "16.4.6", react: "19.3.1", "react-dom": "19.3.1" };
const next = "next/dist/bin/next";

test("Next.js: a server component and a client component", async () => {
  const folder = await project("next", tools, files);
  for (const mode of ["dev", "start"]) {
    if (mode === "start") await tool(folder, next, "build");
    const server = await started(folder, next, mode, "-p", "PORT", "-H", "127.0.0.1");
    assert.deepEqual(await titles({ ...server, path: "/" }, 1), [[EXPECTED, EXPECTED]], `${mode} ${server.said()}`);
  }
  await hasEngineOnce(await filesOf(join(folder, ".next/static")));
});

test("Next.js: a standalone server that is moved to another machine", async () => {
  const folder = await project("next", tools, { ...files, "next.config.js": `export default {
    output: "standalone", turbopack: { root: import.meta.dirname },
    outputFileTracingIncludes: { "/*": ["./node_modules/hyperslab/**"] },
  };` });
  await tool(folder, next, "build");
  await rename(join(folder, ".next/standalone"), join(folder, "moved"));
  await rename(join(folder, ".next/static"), join(folder, "moved/.next/static"));
  for (const left of [".next", "node_modules/hyperslab"]) await rm(join(folder, left), { recursive: true });
  const server = await started(join(folder, "moved"), "../server.js");
  assert.deepEqual(await titles({ ...server, path: "/" }, 1), [[EXPECTED, EXPECTED]], server.said());
});
