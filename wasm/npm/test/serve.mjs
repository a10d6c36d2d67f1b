// A web server for tests, with options for features and faults.
import { createServer } from "node:http";

/**
 * Serves `files`, a map from paths to bytes.
 * @param {Map<string, Uint8Array>} files
 * @param {{ranges?: boolean, listing?: "json" | "html" | "go" | "none" | "refused" | "page", cors?: boolean, held?: () => Promise<void>}} options
 *   `"page"`: returns a web page for missing files; `held`: each response waits for it
 */
export async function serve(files, { ranges = true, listing = "json", cors = true, held } = {}) {
  const log = [];
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://x").pathname).slice(1);
    log.push({ path, range: request.headers.range, method: request.method });
    let gone = false;
    response.on("close", () => { gone = !response.writableEnded; log.aborted = (log.aborted ?? 0) + Number(gone); });
    await held?.();
    if (gone) return;
    const headers = cors ? { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Content-Range" } : {};
    const answer = (status, body = "", more = {}) => {
      response.writeHead(status, { ...headers, "Content-Length": Buffer.byteLength(body), ...more });
      response.end(body);
    };
    const page = () => answer(200, "<!doctype html>\n<html><body><a href='/'>Home</a></body></html>\n", { "Content-Type": "text/html" });
    if (path === "" || path.endsWith("/")) {
      if (listing === "page") return page();
      const list = listing === "none" ? undefined : children(files, path);
      if (!list?.length) return answer(404);
      if (listing === "refused") return answer(403);
      if (listing === "json") return answer(200, JSON.stringify(list), { "Content-Type": "application/json" });
      const links = list.map(({ name, type }) => `<a href="${encodeURIComponent(name)}${type === "directory" ? "/" : ""}">${name}</a>`);
      if (listing === "go") {
        const head = '<!doctype html>\n<meta name="viewport" content="width=device-width">\n';
        return answer(200, `${head}<pre>\n${links.join("\n")}\n</pre>\n`, { "Content-Type": "text/html; charset=utf-8" });
      }
      return answer(200, `<title>Index of /${path}</title>${links.join("\n")}`, { "Content-Type": "text/html" });
    }
    const bytes = files.get(path);
    if (!bytes) return listing === "page" ? page() : answer(404);
    const type = /\.m?js$/.test(path) ? "text/javascript" : path.endsWith(".wasm") ? "application/wasm" : path.endsWith(".html") ? "text/html" : "application/octet-stream";
    const range = ranges && /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    if (!range) return answer(200, bytes, { "Content-Type": type });
    const [start, end] = [Number(range[1]), Math.min(Number(range[2]) + 1, bytes.length)];
    if (start >= bytes.length) return answer(416, "", { "Content-Range": `bytes */${bytes.length}` });
    answer(206, bytes.subarray(start, end), { "Content-Type": type, "Content-Range": `bytes ${start}-${end - 1}/${bytes.length}` });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    log,
    close: () => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }),
  };
}

function children(files, prefix) {
  const found = new Map();
  for (const [path, bytes] of files) {
    if (!path.startsWith(prefix)) continue;
    const [name, ...below] = path.slice(prefix.length).split("/");
    found.set(name, below.length ? { name, type: "directory" } : { name, type: "file", size: bytes.length });
  }
  return [...found.values()];
}
