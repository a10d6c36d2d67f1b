// Colour maps by name.
//
// Sources: viridis, magma and inferno by S. van der Walt and N. Smith (CC0); cividis by J. Nuñez, C. Anderton and R. Renslow
// (https://doi.org/10.1371/journal.pone.0199239, CC0 in Matplotlib); turbo by A. Mikhailov (Google, Apache 2.0); terrain
// from Matplotlib (its licence, BSD-compatible); RdBu by C. Brewer (Apache 2.0, https://colorbrewer2.org); tab20 by Tableau
// as in Matplotlib and d3 (ISC). The evenly spaced stops of each are written as hexadecimal digits.
import { HyperslabError } from "../errors.js";

/** Colours from the lowest to the highest value: red, green, blue and alpha of each, mostly of 256. */
export type Colormap = Uint8Array;

const STEPS = 256;
const STOPS: Readonly<Record<ColormapName, string>> = {
  gray: "000000ffffff",
  // Its stops at 0.15, 0.25, 0.5, 0.75 and 1, repeated on a grid of 0.05.
  terrain: "3333992255bb1177dd0099ff00b3b200cc6633d67066e07a99eb85ccf58fffff99e5de8bccbe7db29d70997c62805c54997c76b39d98ccbebbe6deddffffff",
  viridis: "44015446085c471063481769481d6f482475472a7a46307e453781433d844142873f48893d4e8a3a538b38598c355e8d33638d31688e2e6d8e2c718e2a768e297b8e27808e25848e23898e218e8d20928c1f978b1e9c891fa18821a58524aa8328ae802eb37c35b7793dbc7446c06f50c46a5ac86465cb5e70cf577cd25089d54895d840a2da37b0dd2fbddf26cae11fd8e219e5e419f1e51dfde725",
  magma: "00000402020b0504160907200e0b2b140e361a104221114e29115a311165390f6e420f754a107952137c5a167e6219806a1c81721f81792282812581892881912b81992d80a1307eaa337db2357bba3878c23b75ca3e72d2426fd9466be04c67e75263ec5860f1605df4695cf7725cf97b5dfb8560fc8e64fd9869fea16efeaa74feb47bfebd82fec68afecf92fed89afde2a3fdebacfcf4b6fcfdbf",
  inferno: "00000402020c0504170a072210092d160b391e0c45260c512f0a5b380962400a67490b6a510e6c59106e61136e69166e71196e781c6d801f6c88226a902568982766a02a63a82e5fb0315bb73557bf3952c63d4dcc4248d34743d94d3ddf5337e45a31e9612bed6925f1711ff47918f78212f98b0bfa9407fb9d07fca60cfcb014fbba1ffac42af8cd37f6d746f4e156f2ea69f2f27df5f992fcffa4",
  cividis: "00224e002656002a5f002d68003070083370163770203a6f273e6e2e416d34456c3a486c3f4c6c444f6c49536c4e566c535a6d575d6d5c616e60646f656870696b716d6f727272747676767a7a787e7d788381798885788d8878928c789690779b9476a09875a59c74aaa073afa471b5a86fbaac6dbfb06bc4b468c9b965cfbd62d4c15fdac65bdfca57e5cf52ead34cf0d846f6dd3ffce236fee838",
  turbo: "30123b36215f3b2f803f3e9c424bb54559cb4666dd4773eb4680f6458cfd4099ff38a5fb2fb2f427bee91fc9dd1ad4d018ddc21ae4b622ebaa2ff19b3ff68a52fa7a65fd6979fe598bff4b9cfe40a9fb39b7f735c3f134d0ea34dbe236e5d938eecf3af5c53afaba39fdae35fea130fe932afc8423f9751df46617ef5811e84b0ce14109d83706ce2d04c32503b71d02a916019b0f018b09027a0403",
  RdBu: "67001fb2182bd6604df4a582fddbc7f7f7f7d1e5f092c5de4393c32166ac053061",
  tab20: "1f77b4aec7e8ff7f0effbb782ca02c98df8ad62728ff98969467bdc5b0d58c564bc49c94e377c2f7b6d27f7f7fc7c7c7bcbd22dbdb8d17becf9edae5",
};

/** The names of the colour maps. `RdBu` is diverging and `tab20` is for categories. */
export type ColormapName = "gray" | "terrain" | "viridis" | "magma" | "inferno" | "cividis" | "turbo" | "RdBu" | "tab20";

/** The names of all colour maps. */
export const colormapNames = Object.keys(STOPS) as readonly ColormapName[];

const made = new Map<string, Colormap>();

/**
 * The colours of a name: 256, or 20 for `tab20`. Fails with the code `InvalidArgument` if there is no such name.
 *
 * @example
 * ```js
 * import { colormap } from "hyperslab/deck";
 *
 * const [red, green, blue, alpha] = colormap("viridis");
 * ```
 */
export function colormap(name: ColormapName): Colormap {
  const known = made.get(name);
  if (known) return known;
  if (!Object.hasOwn(STOPS, name)) throw new HyperslabError("InvalidArgument", `there is no colour map '${name}'; choose one of ${colormapNames.join(", ")}, or give colours as a Uint8Array`);
  const stops = colours(STOPS[name]);
  const map = name === "tab20" ? Uint8Array.from(stops.flatMap((stop) => [...stop, 255])) : ramp(stops);
  made.set(name, map);
  return map;
}

/** Colours between evenly spaced stops. */
export function ramp(stops: readonly (readonly number[])[]): Colormap {
  const map = new Uint8Array(STEPS * 4).fill(255);
  for (let step = 0; step < STEPS; step += 1) {
    const place = (step / (STEPS - 1)) * (stops.length - 1);
    const before = Math.min(Math.floor(place), stops.length - 2);
    for (let band = 0; band < 3; band += 1) {
      const [from = 0, to = 0] = [stops[before]?.[band], stops[before + 1]?.[band]];
      map[step * 4 + band] = Math.round(from + (to - from) * (place - before));
    }
  }
  return map;
}

function colours(digits: string): number[][] {
  const stop = (hex: string) => [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  return Array.from({ length: digits.length / 6 }, (_, i) => stop(digits.slice(i * 6, i * 6 + 6)));
}
