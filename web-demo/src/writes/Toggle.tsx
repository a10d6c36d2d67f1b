// Shows and hides the strip of writes.
import { areWritesShown } from "./state";

export function WritesToggle() {
  return <label class="check"><input id="show-writes" type="checkbox" checked={areWritesShown.value} onChange={(event) => { areWritesShown.value = event.currentTarget.checked; }} /> Show the writes on a time line</label>;
}
