// The group that was opened, as a tree: its members, and the members of groups in it once they are unfolded.
import type { Member } from "hyperslab";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { addressOf, groupOf, openPlace, type Opened, type Place } from "../opened";
import { messageOf, show } from "../session";
import { placeOf } from "./members";

/** The most members of a group that are listed. */
const LISTED_MAX = 200;

/** The group of the tree. */
let root: Opened | undefined;

/** The group of the tree while something is shown: what is shown, or the group before if that is in it. */
export function rootOf(opened: Opened): Opened | undefined {
  if (!root || !isIn(opened.place, root.place)) root = groupOf(opened) ? opened : undefined;
  return root;
}

function isIn(place: Place, group: Place): boolean {
  const [inner, outer] = [addressOf(place), addressOf(group).replace(/\/+$/, "")];
  return place.store === group.store && (inner.replace(/\/+$/, "") === outer || inner.startsWith(`${outer}/`));
}

/** Give it another `key` for another group. */
export function Tree({ group, shown }: { group: Opened; shown: Opened }) {
  const current = addressOf(shown.place);
  const name = nameOf(group);
  // It opens with the first member, and stays as the user left it.
  const isOpen = useSignal(false);
  if (current !== addressOf(group.place)) isOpen.value = true;
  return (
    <details id="tree" open={isOpen.value}>
      <summary>Members of {name}</summary>
      <ul><Item place={group.place} name={name} kind="group" opened={group} current={current} /></ul>
    </details>
  );
}

interface ItemProps {
  place: Place;
  name: string;
  kind: Member["kind"];
  /** What is at the place, if it is open. Its members are then unfolded. */
  opened?: Opened;
  /** The address of what is shown. */
  current: string;
}

function Item({ place, name, kind, opened, current }: ItemProps) {
  const isUnfolded = useSignal(opened !== undefined);
  const found = useSignal(opened);
  const failure = useSignal<string | undefined>(undefined);
  useEffect(() => {
    if (!isUnfolded.value || found.peek()) return undefined;
    let isGone = false;
    failure.value = undefined;
    openPlace(place).then(
      (at) => { if (!isGone) found.value = at; },
      (error: unknown) => { if (!isGone) failure.value = messageOf(error); },
    );
    return () => { isGone = true; };
  }, [isUnfolded.value]);
  return (
    <li>
      <div class="row">
        {kind === "array" ? <span class="fold" /> : <button type="button" class="fold" aria-expanded={isUnfolded.value} aria-label={`Members of ${name}`} onClick={() => { isUnfolded.value = !isUnfolded.value; }}>{isUnfolded.value ? "▾" : "▸"}</button>}
        <button type="button" class="member" aria-current={addressOf(place) === current} onClick={() => void show(place)}>{name}</button>
      </div>
      {!isUnfolded.value ? null : failure.value !== undefined ? <p role="alert">{failure.value}</p> : found.value ? <Members opened={found.value} current={current} /> : <p role="status">Reading…</p>}
    </li>
  );
}

function Members({ opened, current }: { opened: Opened; current: string }) {
  const members = groupOf(opened)?.members;
  if (!members) return <p class="note">This is an array.</p>;
  if (members.length === 0) return <p class="note">This group has no members.</p>;
  return (
    <ul>
      {members.slice(0, LISTED_MAX).map((member) => <Item key={member.name} place={placeOf(opened, member)} name={member.name} kind={member.kind} current={current} />)}
      {members.length > LISTED_MAX ? <li class="note">The first {LISTED_MAX} of {members.length.toLocaleString("en")} members. Enter the address of another one.</li> : null}
    </ul>
  );
}

function nameOf({ place, dataset }: Opened): string {
  return dataset.name || addressOf(place).split("/").filter(Boolean).at(-1) || "the group";
}
