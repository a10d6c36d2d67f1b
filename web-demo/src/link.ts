// The shown array, time, attribute, colours and view, as the hash of the page's URL.

export interface Link {
  url?: string | undefined; at?: number | undefined; attr?: string | undefined; map?: string | undefined;
  x?: number | undefined; y?: number | undefined; z?: number | undefined;
}

/** Parses the hash, which may come from anyone. Ignores invalid times and numbers. */
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

/** Updates the hash once the view stops moving, without a new entry in the browser's history. */
export function writeLink(link: { [name in keyof Link]: string | undefined }): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const stated = Object.entries(link).filter(([, v]) => v !== undefined && v !== "");
    history.replaceState(null, "", `#${new URLSearchParams(stated as [string, string][])}`);
  }, 250);
}
