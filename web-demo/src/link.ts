// The address of what is shown: array, moment, attribute, colours and view, kept in the URL's hash.

export interface Link { url?: string; at?: string; attr?: string; map?: string; x?: string; y?: string; z?: string }

export function readLink(): Link {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

let timer: ReturnType<typeof setTimeout> | undefined;

/** Written when the view has come to rest, without a new entry in the browser's history. */
export function writeLink(link: Link): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const stated = Object.entries(link).filter(([, v]) => v !== undefined && v !== "");
    history.replaceState(null, "", `#${new URLSearchParams(stated as [string, string][])}`);
  }, 250);
}
