// A web server with the delays of a network: HTTP/1.1 or HTTP/2, a round-trip time, and a bandwidth that all
// responses share. It counts the requests and bytes of each phase.
import { execFileSync } from "node:child_process";
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createSecureServer } from "node:http2";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { gzipSync } from "node:zlib";

const TYPES = { js: "text/javascript", mjs: "text/javascript", wasm: "application/wasm", html: "text/html", json: "application/json" };
const PIECE = 16 * 1024;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Lets bytes through at a rate, in the order of the calls. */
class Link {
  free = 0;

  constructor(mbit) {
    this.bytesPerMs = (mbit * 1e6) / 8 / 1e3;
  }

  async send(bytes) {
    const now = performance.now();
    this.free = Math.max(this.free, now) + bytes / this.bytesPerMs;
    // Timers wait at least a millisecond, so short waits add up first.
    if (this.free - now > 2) await pause(this.free - now);
  }
}

/** The certificate of an HTTPS server, made once. */
function certificate() {
  const [key, cert] = ["key", "cert"].map((name) => join(tmpdir(), `hyperslab-bench-${name}.pem`));
  if (!existsSync(cert)) execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days", "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], { stdio: "ignore" });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

/**
 * Serves folders at the top of the path: `/NAME/SESSION/…`. The session is ignored, so that no cache helps a later one.
 * @param {Record<string, string>} folders
 * @param {{protocol: "h1" | "h2", rtt: number, mbit: number}} network
 */
export async function serve(folders, { protocol, rtt, mbit }) {
  const link = new Link(mbit);
  const counts = { requests: 0, bytes: 0, app: 0 };
  const compressed = new Map();
  const known = new WeakSet();

  /** Answers with part of a file, or a folder's listing as nginx's `autoindex_format json`. */
  async function answer(request, response) {
    const [top, , ...rest] = decodeURIComponent(new URL(request.url, "http://x").pathname).slice(1).split("/");
    const path = top in folders ? join(folders[top], normalize(`/${rest.join("/")}`)) : "";
    // A new connection takes a round trip, and one more for TLS; Chromium opens it with the first request.
    const connection = request.stream?.session ?? request.socket;
    const first = !known.has(connection);
    known.add(connection);
    await pause(rtt * (first ? (protocol === "h2" ? 3 : 2) : 1));
    counts.requests += 1;
    const close = (status, headers = {}) => { response.writeHead(status, headers); response.end(); };
    if (request.url === "/favicon.ico" || path === "" || !existsSync(path)) return close(404);
    const { size } = statSync(path);
    if (statSync(path).isDirectory()) {
      const list = readdirSync(path, { withFileTypes: true }).map((entry) => (entry.isDirectory()
        ? { name: entry.name, type: "directory" } : { name: entry.name, type: "file", size: statSync(join(path, entry.name)).size }));
      return send(response, 200, { "Content-Type": "application/json" }, [Buffer.from(JSON.stringify(list))]);
    }
    const type = TYPES[path.split(".").at(-1)] ?? "application/octet-stream";
    if (top === "app") {
      if (!compressed.has(path)) compressed.set(path, gzipSync(readFileSync(path), { level: 9 }));
      const body = compressed.get(path);
      counts.app += body.length;
      return send(response, 200, { "Content-Type": type, "Content-Encoding": "gzip" }, [body]);
    }
    const headers = { "Content-Type": type, "Accept-Ranges": "bytes", "Cache-Control": "max-age=3600" };
    if (request.method === "HEAD") return close(200, { ...headers, "Content-Length": size });
    const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? "");
    if (!range) return send(response, 200, { ...headers, "Content-Length": size }, size > 0 ? createReadStream(path, { highWaterMark: PIECE }) : []);
    const start = range[1] === "" ? Math.max(0, size - Number(range[2])) : Number(range[1]);
    const end = range[1] !== "" && range[2] !== "" ? Math.min(Number(range[2]), size - 1) : size - 1;
    if (start >= size) return close(416, { "Content-Range": `bytes */${size}` });
    return send(response, 206, { ...headers, "Content-Length": end - start + 1, "Content-Range": `bytes ${start}-${end}/${size}` }, createReadStream(path, { start, end, highWaterMark: PIECE }));
  }

  async function send(response, status, headers, body) {
    response.writeHead(status, headers);
    let go = () => {};
    for (const event of ["drain", "close"]) response.on(event, () => go());
    const drained = () => new Promise((done) => { go = done; });
    for await (const whole of body) {
      for (let at = 0; at < whole.length; at += PIECE) {
        const piece = whole.subarray(at, at + PIECE);
        await link.send(piece.length);
        if (response.destroyed || response.writableEnded) return;
        counts.bytes += piece.length;
        if (!response.write(piece)) await drained();
      }
    }
    response.end();
  }

  const handle = (request, response) => void answer(request, response).catch((error) => { console.error(error); response.destroy?.(); });
  const server = protocol === "h2" ? createSecureServer({ ...certificate(), allowHTTP1: false }, handle) : createServer(handle);
  server.on("sessionError", () => {});
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const open = new Set();
  server.on("connection", (socket) => { open.add(socket); socket.setNoDelay(true); socket.on("close", () => open.delete(socket)); });
  return {
    url: `${protocol === "h2" ? "https" : "http"}://127.0.0.1:${server.address().port}`,
    counts: () => ({ ...counts }),
    close: () => { for (const socket of open) socket.destroy(); server.close(); },
  };
}
