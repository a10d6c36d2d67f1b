// The address of what is shown: array, moment, attribute, colours and view, kept in the URL's hash.

export interface Link {
  url?: string | undefined; at?: number | undefined; attr?: string | undefined; map?: string | undefined;
  x?: number | undefined; y?: number | undefined; z?: number | undefined;
}

/** What the address bar states. Anybody may have written it: what is no moment and no number is left out. */
export function readLink(): Link {
  const stated = new URLSearchParams(location.hash.slice(1));
  const text = (name: string) => stated.get(name) || undefined;
  const number = (name: string) => {
    const found = Number(text(name) ?? NaN);
    return Number.isFinite(found) ? found : undefined;
  };
  return { url: text("url"), at: moment(text("at")), attr: text("attr"), map: text("map"), x: number("x"), y: number("y"), z: number("z") };
}

function moment(text: string | undefined): number | undefined {
  return /^\d+$/.test(text ?? "") && Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

let timer: ReturnType<typeof setTimeout> | undefined;

/** Written when the view has come to rest, without a new entry in the browser's history. */
export function writeLink(link: { [name in keyof Link]: string | undefined }): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const stated = Object.entries(link).filter(([, v]) => v !== undefined && v !== "");
    history.replaceState(null, "", `#${new URLSearchParams(stated as [string, string][])}`);
  }, 250);
}
