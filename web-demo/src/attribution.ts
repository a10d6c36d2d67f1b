// The authors, the licence and the address of the shown data, from the catalog and from the data.
import { addressOf, absoluteOf, type Opened } from "./opened";
import { catalog } from "./session";
import * as text from "./text";

/** Attributes of CF, GDAL and others that name an author or a licence. */
const NAMES = ["attribution", "institution", "source", "license", "licence", "copyright", "references"];

/** Lines with the attribution, the address and the time. */
export function attributionOf({ place, at, dataset: { attributes = {} } }: Opened): string[] {
  const listed = catalog.peek().find(({ url }) => url === addressOf(place))?.attribution;
  const told = NAMES.flatMap((name) => {
    const value = Object.entries(attributes).find(([key]) => key.toLowerCase() === name)?.[1];
    return typeof value === "string" && value.trim() ? [`${name[0]?.toUpperCase()}${name.slice(1)}: ${value.trim()}`] : [];
  });
  return [...(listed ? [listed] : []), ...told, `${absoluteOf(place)}${at === undefined ? "" : `, as of ${text.moment(at)}`}`];
}
