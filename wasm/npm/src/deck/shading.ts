// Colours values on the GPU: the shader code that layers share, and its uniforms.
import type { Texture } from "@luma.gl/core";
import { NO_DATA } from "./texture.js";

/** How values between the ends of the range become colours. `"category"`: each whole number is the index of a colour. */
export type Scale = "linear" | "log" | "category";

/** A packing: value = stored · scale + offset. */
export interface Decode {
  /** The factor. */
  readonly scale: number;
  /** The value of a stored 0. */
  readonly offset: number;
}

/** The uniforms of `shading`. */
export interface ShadingProps {
  limits01: readonly number[];
  limits23: readonly number[];
  limits45: readonly number[];
  decode: readonly number[];
  size: readonly number[];
  planes: number;
  colors: number;
  mode: number;
  unit: number;
  shadingColors: Texture;
  shadingValues?: Texture;
}

const MODES: Readonly<Record<Scale, number>> = { linear: 0, log: 1, category: 2 };

const block = `\
layout(std140) uniform shadingUniforms {
  vec4 limits01;
  vec4 limits23;
  vec4 limits45;
  vec2 decode;
  vec2 size;
  float planes;
  float colors;
  float mode;
  float unit;
} shading;

uniform sampler2D shadingColors;

bool shading_isMissing(float stored) {
  return stored <= ${NO_DATA.toExponential(9)};
}

// The colour of a stored value in one plane.
vec4 shading_color(float stored, int plane) {
  float value = stored * shading.decode.x + shading.decode.y;
  vec4 pair = plane < 2 ? shading.limits01 : plane < 4 ? shading.limits23 : shading.limits45;
  vec2 limits = (plane & 1) == 0 ? pair.xy : pair.zw;
  float place;
  if (shading.mode > 1.5) {
    place = mod(floor(value + 0.5), shading.colors) / shading.colors + 0.5 / shading.colors;
  } else if (limits.y <= limits.x) {
    place = 0.5;
  } else if (shading.mode > 0.5) {
    place = value <= 0.0 ? 0.0 : log(value / limits.x) / log(limits.y / limits.x);
  } else {
    place = (value - limits.x) / (limits.y - limits.x);
  }
  int color = int(floor(clamp(place, 0.0, 1.0) * shading.colors));
  return texelFetch(shadingColors, ivec2(min(color, int(shading.colors) - 1), plane), 0);
}
`;

const uniformTypes = {
  limits01: "vec4<f32>", limits23: "vec4<f32>", limits45: "vec4<f32>", decode: "vec2<f32>", size: "vec2<f32>",
  planes: "f32", colors: "f32", mode: "f32", unit: "f32",
} as const;

/** Colours the points of a layer, in its vertex shader. */
export const shadingOfPoints = { name: "shading", vs: block, fs: "", uniformTypes };

/** Colours the cells of a texture, in the fragment shader. The planes are below each other, and their colours are added. */
export const shadingOfCells = {
  name: "shading", vs: "", uniformTypes,
  fs: `${block}
uniform sampler2D shadingValues;

vec4 shading_cell(vec2 uv) {
  ivec2 cell = ivec2(clamp(floor(uv * shading.size), vec2(0.0), shading.size - 1.0));
  vec4 sum = vec4(0.0);
  for (int plane = 0; plane < int(shading.planes); plane++) {
    float stored = texelFetch(shadingValues, ivec2(cell.x, cell.y + plane * int(shading.size.y)), 0).r * shading.unit;
    if (shading_isMissing(stored)) continue;
    vec4 color = shading_color(stored, plane);
    sum = vec4(sum.rgb + color.rgb, max(sum.a, color.a));
  }
  return min(sum, 1.0);
}
`,
};

/** The uniforms for ranges of planes. A logarithmic scale needs ends above 0. */
export function shadingProps(ranges: readonly (readonly [number, number])[], scale: Scale, decode: Decode | undefined, colors: Texture): Omit<ShadingProps, "size" | "unit"> {
  const limits = Array.from({ length: 6 }, (_, plane) => {
    const [low, high] = ranges[plane] ?? [0, 1];
    return scale !== "log" ? [low, high] : [low > 0 ? low : high > 0 ? high / 1e6 : 1, high > 0 ? high : 1];
  }).flat();
  return {
    limits01: limits.slice(0, 4), limits23: limits.slice(4, 8), limits45: limits.slice(8, 12),
    decode: [decode?.scale ?? 1, decode?.offset ?? 0], planes: ranges.length, colors: colors.width, mode: MODES[scale] ?? 0, shadingColors: colors,
  };
}
