// Starts workers from a page, also if the library comes from another origin or the page demands Trusted Types.
import { HyperslabError } from "./errors.js";
import { failure } from "./messages.js";

interface Policy { createScriptURL(url: string): string }
interface TrustedTypes { createPolicy(name: string, rules: Policy): Policy }

let policy: Policy | undefined;
let importer: string | undefined;

/** A worker of the page; `fail` is told why it ends, in words. */
export function pageWorker(fail: (why: string) => void): Worker {
  const worker = made();
  worker.onerror = (event) => {
    event.preventDefault();
    const elsewhere = importer ? `; its host must send "Access-Control-Allow-Origin", and a Content-Security-Policy of the page must allow "worker-src blob: ${new URL(import.meta.url).origin}"` : "";
    fail(event.message || `it could not be loaded${elsewhere}`);
  };
  return worker;
}

function made(): Worker {
  try {
    // Bundlers look for this very expression.
    return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  } catch {
    return madeOtherwise();
  }
}

/** Browsers take workers of the page's own origin only, and under Trusted Types only from a policy. */
function madeOtherwise(): Worker {
  const address = import.meta.url.replace(/[^/]*$/, "worker.js");
  const { location, trustedTypes } = globalThis as { location?: Location; trustedTypes?: TrustedTypes };
  try {
    if (new URL(address).origin !== location?.origin) importer ??= URL.createObjectURL(new Blob([`import ${JSON.stringify(address)};`], { type: "text/javascript" }));
    return new Worker(trusted(importer ?? address, trustedTypes), { type: "module" });
  } catch (error) {
    const hint = trustedTypes && error instanceof TypeError
      ? 'allow the policy "trusted-types hyperslab" in the Content-Security-Policy of the page'
      : "serve the package from the origin of the page";
    throw new HyperslabError("Unsupported", `a worker cannot be started: ${failure(error).message}; ${hint}, or open the array without a pool`, { cause: error });
  }
}

function trusted(url: string, types: TrustedTypes | undefined): string {
  try {
    policy ??= types?.createPolicy("hyperslab", { createScriptURL: (url) => url });
  } catch {
    // A page that lists its policies may demand none of them here.
  }
  return policy?.createScriptURL(url) ?? url;
}
