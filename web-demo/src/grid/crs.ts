// The unit of coordinates, from their coordinate reference system. Rasters state the unit nowhere else.
import type { Axis, Crs } from "hyperslab";

/** The unit of coordinates, and whether lengths on the map equal lengths on the ground. */
export interface CrsUnit { readonly unit: "m" | "km" | "ft" | "degree"; readonly isTrue: boolean }

/** The longest WKT that is read, in characters. */
const WKT_MAX = 100_000;

/** The unit of the coordinates of a coordinate reference system. `undefined` if it states none, or another one. */
export function unitOf(crs: Crs | undefined): CrsUnit | undefined {
  if (!crs) return undefined;
  const { wkt = "", projjson, code = wkt } = crs;
  const found = unitOfWkt(wkt) ?? unitOfJson(projjson) ?? unitOfCode(code);
  // The Mercator projection stretches lengths with the latitude.
  const isStretched = /^EPSG:3857$/i.test(code) || /(?<!transverse[_ ])mercator/i.test(`${wkt} ${JSON.stringify(projjson) ?? ""} ${crs.name ?? ""}`);
  return found && { unit: found, isTrue: found !== "degree" && !isStretched };
}

/** An axis with the unit of the coordinate reference system, if it has coordinates and no unit of its own. */
export function withUnit(axis: Axis, crs: Crs | undefined): Axis {
  const found = axis.unit || axis.coordinates.type === "index" || (axis.role !== "x" && axis.role !== "y") ? undefined : unitOf(crs)?.unit;
  return found === undefined ? axis : { ...axis, unit: found === "degree" ? `degrees_${axis.role === "x" ? "east" : "north"}` : found };
}

/** The unit of a CRS or of its axes, not of its parts. Reads both versions of well-known text. */
function unitOfWkt(wkt: string): CrsUnit["unit"] | undefined {
  if (wkt.length > WKT_MAX) return undefined;
  const inside: string[] = [];
  for (const [token] of wkt.matchAll(/"(?:[^"]|"")*"(?:\s*,\s*[\d.eE+-]+)?|\w+\s*[[(]|[\])]/g)) {
    if (/^[\])]$/.test(token)) inside.pop();
    else if (/[[(]$/.test(token)) inside.push(token.slice(0, -1).trim().toUpperCase());
    else if (/^(LENGTH|ANGLE)?UNIT$/.test(inside.at(-1) ?? "")) {
      const above = inside.at(-2) === "AXIS" ? inside.at(-3) : inside.at(-2);
      const [, name = "", factor = ""] = /^"(.*)"\s*,\s*(.*)$/s.exec(token) ?? [];
      if (/^PROJ(CS|CRS|ECTEDCRS)$/.test(above ?? "")) return lengthOf(Number(factor));
      if (/^GEO(G|D)(CS|CRS|RAPHICCRS|ETICCRS)$/.test(above ?? "") && inside.indexOf(above ?? "") === inside.findIndex((word) => !/^(COMPD_CS|COMPOUNDCRS|BOUNDCRS|SOURCECRS)$/.test(word))) return /^degree/i.test(name) ? "degree" : undefined;
    }
  }
  return undefined;
}

interface ProjJson { type?: unknown; source_crs?: ProjJson; components?: ProjJson[]; coordinate_system?: { axis?: { unit?: unknown }[] } }

function unitOfJson(projjson: unknown): CrsUnit["unit"] | undefined {
  const given = projjson as ProjJson | null | undefined;
  const crs = given?.source_crs ?? given?.components?.[0] ?? given;
  const unit = crs?.coordinate_system?.axis?.[0]?.unit;
  if (unit === "metre") return "m";
  if (unit === "degree") return "degree";
  const { type, conversion_factor: factor } = (unit ?? {}) as { type?: unknown; conversion_factor?: unknown };
  return type === "LinearUnit" ? lengthOf(Number(factor)) : undefined;
}

/** The units of WGS 84, its UTM zones, and Web Mercator. */
function unitOfCode(code: string): CrsUnit["unit"] | undefined {
  if (/^EPSG:4326$/i.test(code)) return "degree";
  return /^EPSG:(3857|32[67](0[1-9]|[1-5]\d|60))$/i.test(code) ? "m" : undefined;
}

/** The unit with so many metres. The international foot and that of US surveys differ in the sixth digit. */
function lengthOf(metres: number): CrsUnit["unit"] | undefined {
  if (metres === 1) return "m";
  if (metres === 1000) return "km";
  return Math.abs(metres - 0.3048) < 1e-6 ? "ft" : undefined;
}
