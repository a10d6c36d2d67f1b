// Servers of the tests: the program's own server behind one that notes requests, delays or breaks them, and lets the page
// report its errors in every browser.
import { spawn } from "node:child_process";
import { createServer, request } from "node:http";
import { createInterface } from "node:readline";

const { HYPERSLAB } = process.env;
const running = [];
const faults = new Set();

/** The requests to all servers: their URL, and the status of their answer. */
export const requests = [];

/** Collects what the page did not catch, logged as an error, or was forbidden by its policy, in an attribute. */
const REPORT = `const errors = [];
const note = (text) => {
  errors.push(String(text));
  document.documentElement.dataset.errors = JSON.stringify(errors);
};
addEventListener("error", (event) => note(event.message));
addEventListener("unhandledrejection", ({ reason }) => note(reason?.stack ?? reason));
addEventListener("securitypolicyviolation", (event) => note("policy: " + event.violatedDirective + " " + event.blockedURI));
console.error = (...words) => note(words.join(" "));
`;

/** Serves a folder until the tests end, and returns its URL. */
export async function serve(folder) {
  const child = spawn(HYPERSLAB, ["serve", folder, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  running.push(() => child.kill());
  return observe(await printedUrl(child, "serve"));
}

/** The URL that a command prints. */
export async function printedUrl(child, name) {
  for await (const line of createInterface({ input: child.stdout })) {
    const address = /http:\/\/\S+/.exec(line)?.[0];
    if (address) return address;
  }
  throw new Error(`${name} printed no URL`);
}

/** Starts a server in front of another one, and returns its URL. */
async function observe(behind) {
  const server = createServer((asked, answer) => {
    const { pathname } = new URL(asked.url, behind);
    if (pathname === "/report-errors.js") return answer.setHeader("Content-Type", "text/javascript").end(REPORT);
    const noted = { url: `http://${asked.headers.host}${asked.url}`, status: undefined };
    requests.push(noted);
    const fault = [...faults].find(({ pattern }) => pattern.test(asked.url));
    if (fault && fault.delay === undefined) return asked.socket.destroy();
    setTimeout(() => forward(behind, asked, answer, noted), fault?.delay ?? 0);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  running.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${server.address().port}/`;
}

function forward(behind, asked, answer, noted) {
  const isPage = /^\/(index\.html)?$/.test(new URL(asked.url, behind).pathname);
  const headers = { ...asked.headers, host: new URL(behind).host, ...(isPage ? { "accept-encoding": "identity" } : {}) };
  const sent = request(new URL(asked.url, behind), { method: asked.method, headers }, async (found) => {
    noted.status = found.statusCode;
    if (!isPage || !found.headers["content-type"]?.startsWith("text/html")) {
      answer.writeHead(found.statusCode, found.headers);
      return found.pipe(answer);
    }
    const html = Buffer.concat(await found.toArray()).toString();
    const { "content-length": _, ...rest } = found.headers;
    answer.writeHead(found.statusCode, rest).end(html.replace("<head>", '<head><script src="report-errors.js"></script>'));
  });
  sent.on("error", () => answer.destroy());
  answer.on("close", () => sent.destroy());
  asked.pipe(sent);
}

/** Breaks the requests whose path a pattern matches, or delays them. Returns a function that ends this. */
export function fault(pattern, { delay } = {}) {
  const rule = { pattern, delay };
  faults.add(rule);
  return () => faults.delete(rule);
}

/** Stops all servers. */
export function stopServers() {
  for (const stop of running) stop();
}
