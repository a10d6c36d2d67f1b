// The arrays that the page lists: `arrays.json` in the page's folder.

/** An array or a group of the catalog. */
export interface Listed {
  title: string;
  url: string;
  about: string;
  attribution?: string;
  /** The URL of a small picture of it, 56 by 42 pixels. */
  thumbnail?: string;
  /** How to draw it first. */
  map?: string;
  attribute?: string;
}

/** Reads the list. It is empty if the page has none. */
export async function readCatalog(): Promise<Listed[]> {
  const response = await fetch("arrays.json");
  return response.ok ? ((await response.json()) as Listed[]) : [];
}
