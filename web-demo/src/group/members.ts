// Where the members of a group are.
import type { Member } from "hyperslab";
import { placeAt, type Opened, type Place } from "../opened";

/** The place of a member of a group that is open. */
export function placeOf({ place, dataset }: Opened, { uri, relative }: Member): Place {
  if (relative) return { ...place, path: uri };
  // A group that was copied may still name its members where they were. The description has found those below it.
  const { variables = [], tables = [], children = [] } = dataset;
  const found = [...variables, ...tables, ...children].find(({ path }) => path !== "" && uri.replace(/\/+$/, "").endsWith(`/${path}`));
  return found ? placeAt(place, found.path) : { url: uri, path: "" };
}
