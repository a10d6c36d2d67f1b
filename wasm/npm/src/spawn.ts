// Starts workers from a page, even if the package comes from another origin or the page requires Trusted Types.
import { HyperslabError } from "./errors.js";
import { failure } from "./messages.js";
import { plainWorker, workerScript } from "./script.js";

interface Policy { createScriptURL(url: string): string }
interface TrustedTypes { createPolicy(name: string, rules: Policy): Policy }

let policy: Policy | undefined;
let importer: string | undefined;

/** Starts a worker. `fail` is called with the message of an error that ends it. */
export function pageWorker(fail: (why: string) => void, script: string | URL | undefined): Worker {
  const worker = made(script);
  worker.onerror = (event) => {
    event.preventDefault();
    fail(event.message || `it could not be loaded${importer ? `; ${elsewhere(script ?? workerScript())}` : ""}`);
  };
  return worker;
}

function made(script: string | URL | undefined): Worker {
  const address = String(script ?? workerScript());
  // Chromium and WebKit refuse a script of another origin at once. Firefox starts the worker and lets it fail.
  if (isElsewhere(address)) return madeOtherwise(address);
  try {
    return script === undefined ? plainWorker() : new Worker(script, { type: "module" });
  } catch {
    return madeOtherwise(address);
  }
}

/** Whether a script is on another origin. In a bundle, the address may name a file on the machine that built it. */
function isElsewhere(address: string): boolean {
  const { location } = globalThis as { location?: Location };
  const { origin, protocol } = new URL(address, location?.href);
  return location !== undefined && protocol.startsWith("http") && origin !== location.origin;
}

/** Starts a worker of another origin through a `blob:` URL, and through a policy if the page requires Trusted Types. */
function madeOtherwise(script: string): Worker {
  const { location, trustedTypes } = globalThis as { location?: Location; trustedTypes?: TrustedTypes };
  try {
    const { href } = new URL(script, location?.href);
    if (isElsewhere(href)) importer ??= URL.createObjectURL(new Blob([`import ${JSON.stringify(href)};`], { type: "text/javascript" }));
    return new Worker(trusted(importer ?? href, trustedTypes), { type: "module" });
  } catch (error) {
    const hint = trustedTypes && error instanceof TypeError
      ? `add "trusted-types hyperslab" to the page's Content-Security-Policy`
      : importer ? elsewhere(script) : "give the address of the package's worker.js: new Pool({ worker: url })";
    throw new HyperslabError("Unsupported", `cannot start a worker: ${failure(error).message}; ${hint}, or open the array without a pool`, { cause: error });
  }
}

/** The conditions for a worker of another origin, for errors. */
function elsewhere(script: string | URL): string {
  return `its host must send "Access-Control-Allow-Origin", and the page's Content-Security-Policy must allow "worker-src blob: ${new URL(script).origin}"`;
}

function trusted(url: string, types: TrustedTypes | undefined): string {
  try {
    policy ??= types?.createPolicy("hyperslab", { createScriptURL: (url) => url });
  } catch {
    // The page may list its policies without requiring one here.
  }
  return policy?.createScriptURL(url) ?? url;
}
