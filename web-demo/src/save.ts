// Offers files for download.

/** How long a browser may take to begin the download. */
const BEGIN_MS = 60_000;

/** Offers a file under a name. */
export function save(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), BEGIN_MS);
}
