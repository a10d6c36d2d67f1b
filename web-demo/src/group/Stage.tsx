// The members of a group, each with what it is, as links.
import type { Dataset, Member } from "hyperslab";
import { groupOf } from "../opened";
import { show } from "../session";
import type { GroupModel } from "./kind";
import { placeOf } from "./members";

export function Stage({ model: { opened } }: { model: GroupModel }) {
  const group = groupOf(opened);
  if (!group) return null;
  const { title, name, notes = [] } = opened.dataset;
  return (
    <section id="members" aria-label="Members">
      <h2>{title || name || "Group"}</h2>
      <p>{group.members.length === 0 ? "This group has no members." : `${group.members.length} member${group.members.length === 1 ? "" : "s"}. Choose one to show it.`}</p>
      <ul>{group.members.map((member) => <li key={member.name}><MemberLink member={member} dataset={opened.dataset} open={() => void show(placeOf(opened, member))} /></li>)}</ul>
      {notes.map((note) => <p key={note} class="note">{note}</p>)}
    </section>
  );
}

function MemberLink({ member: { name, kind }, dataset, open }: { member: Member; dataset: Dataset; open(): void }) {
  return <button type="button" onClick={open}>{name}<small>{sentence(name, kind, dataset)}</small></button>;
}

/** What the groups of applications are, for people. */
const APPLICATIONS: Readonly<Record<string, string>> = {
  cf: "group of CF arrays", gdal_raster: "GDAL raster", gdal_vector: "GDAL vector layers", gdal_multidim: "GDAL multidimensional group",
  bioimg: "BioImaging image", soma: "SOMA collection", vcf: "TileDB-VCF variants", vector_search: "vector search index",
};

/** What a member is, as far as the group's description says. */
function sentence(name: string, kind: Member["kind"], { children = [], variables = [], tables = [] }: Dataset): string {
  const child = children.find(({ path }) => path === name);
  if (child && kind !== "array") return child.title ?? APPLICATIONS[child.application] ?? "group";
  const found = variables.filter(({ path }) => path === name);
  if (found.length > 0) return found.map((v) => `${v.long_name ?? v.attribute}${v.unit ? ` in ${v.unit}` : ""} by ${v.axes.map((axis) => axis.name).join(", ")}`).join("; ");
  const table = tables.find(({ path }) => path === name);
  if (table) return `table of ${table.columns.length} columns${table.rows === undefined ? "" : ` and ${table.rows.toLocaleString("en")} rows`}`;
  return kind === "unknown" ? "array or group" : kind;
}

export function Controls() {
  return null;
}
