// The viewer: shows an array or a group, and lets the user move in space and time.
import { render } from "preact";
import { readCatalog } from "./catalog";
import { listCopies } from "./copies";
import { keepHistory } from "./history";
import { catalog, failure, follow, isIdle, messageOf } from "./session";
import { App } from "./ui/App";

async function start(): Promise<void> {
  render(<App />, document.body);
  keepHistory();
  // Pages without such storage have no copies.
  void listCopies().catch(() => undefined);
  catalog.value = await readCatalog();
  // The user may have entered a URL meanwhile.
  if (isIdle()) await follow();
}

void start().catch((error: unknown) => { failure.value = messageOf(error); });
