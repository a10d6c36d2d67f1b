// Draws a texture of values on parts of the world, coloured by the GPU.
import type { DefaultProps, LayerProps, UpdateParameters } from "@deck.gl/core";
import { BitmapLayer } from "@deck.gl/layers";
import type { Texture } from "@luma.gl/core";
import { toWorld, type Place, type Rect } from "./place.js";
import { shadingOfCells, type ShadingProps } from "./shading.js";

/** Degrees of latitude that a strip spans. Between them, positions in a map are interpolated. */
const STRIP_DEGREES = 0.5;
const STRIPS_MAX = 256;

type CellsProps = LayerProps & {
  /** The values. */
  values: Texture;
  /** The cells of the texture, and the parts to draw, in cells of the finest level. */
  outer: Rect;
  parts: readonly Rect[];
  place: Place;
  /** Degrees to add to longitudes. */
  turn: number;
  shading: Omit<ShadingProps, "size" | "unit">;
};

const defaultProps: DefaultProps<CellsProps> = {
  values: { type: "object", value: null as unknown as Texture, compare: false },
  outer: { type: "object", value: { x0: 0, y0: 0, x1: 1, y1: 1 } },
  parts: { type: "array", value: [] },
  place: { type: "array", value: [1, 0, 0, 0, 1, 0] },
  turn: 0,
  shading: { type: "object", value: null as unknown as CellsProps["shading"] },
};

/** A tile of an `ArrayLayer`. */
export class CellsLayer extends BitmapLayer<CellsProps> {
  static override layerName = "CellsLayer";
  static override defaultProps = defaultProps as DefaultProps<never>;

  override getShaders() {
    const shaders = super.getShaders();
    const inject = { "fs:DECKGL_FILTER_COLOR": "color = shading_cell(geometry.uv); color.a *= layer.opacity;" };
    return { ...shaders, modules: [...shaders.modules, shadingOfCells], inject: { ...shaders.inject, ...inject } };
  }

  override updateState({ props, oldProps, changeFlags }: UpdateParameters<this>): void {
    const attributes = this.getAttributeManager();
    if (changeFlags.extensionsChanged) {
      this.state.model?.destroy();
      this.state.model = this._getModel();
      attributes?.invalidateAll();
    }
    if (!this.state.mesh || props.parts !== oldProps.parts || props.place !== oldProps.place || props.outer !== oldProps.outer || props.turn !== oldProps.turn) {
      const mesh = this._createMesh();
      this.state.model?.setVertexCount(mesh.vertexCount);
      this.setState({ mesh, coordinateConversion: 0, bounds: [0, 0, 0, 0] });
      for (const name of ["positions", "indices", "texCoords"]) attributes?.invalidate(name);
    }
  }

  protected override _createMesh() {
    const { parts, outer, place, turn } = this.props;
    const isMap = this.context.viewport.isGeospatial;
    const meshes = parts.map((part) => grid(part, isMap ? strips(place, part) : [1, 1]));
    const positions = new Float64Array(meshes.reduce((sum, { corners }) => sum + corners.length, 0) * 3);
    const texCoords = new Float32Array((positions.length / 3) * 2);
    const indices: number[] = [];
    let vertex = 0;
    for (const { corners, triangles } of meshes) {
      for (const index of triangles) indices.push(vertex + index);
      for (const [column, row] of corners) {
        const [x, y] = toWorld(place, column, row);
        positions.set([x + turn, y, 0], vertex * 3);
        texCoords.set([(column - outer.x0) / (outer.x1 - outer.x0), (row - outer.y0) / (outer.y1 - outer.y0)], vertex * 2);
        vertex += 1;
      }
    }
    return { vertexCount: indices.length, positions, indices: Uint32Array.from(indices), texCoords };
  }

  override draw({ shaderModuleProps }: { shaderModuleProps: { picking: { isActive: boolean } } }): void {
    const { model, disablePicking } = this.state;
    const { values, shading } = this.props;
    if (!model || !values || values.destroyed || (shaderModuleProps.picking.isActive && disablePicking)) return;
    const size = [values.width, values.height / shading.planes];
    const unit = values.format === "r8unorm" ? 255 : 1;
    model.shaderInputs.setProps({
      bitmap: { bitmapTexture: values, bounds: [0, 0, 0, 0], coordinateConversion: 0, desaturate: 0, tintColor: [1, 1, 1], transparentColor: [0, 0, 0, 0] },
      shading: { ...shading, size, unit, shadingValues: values },
    });
    model.draw(this.context.renderPass);
  }
}

/** The number of strips across and down of a part on a map, by the latitudes that it spans. */
function strips(place: Place, { x0, y0, x1, y1 }: Rect): [number, number] {
  const count = (degrees: number) => Math.min(STRIPS_MAX, Math.max(1, Math.ceil(Math.abs(degrees) / STRIP_DEGREES)));
  return [count(place[3] * (x1 - x0)), count(place[4] * (y1 - y0))];
}

/** A rectangle cut into strips: the corners and the triangles between them. */
function grid({ x0, y0, x1, y1 }: Rect, [across, down]: readonly [number, number]): { corners: [number, number][]; triangles: number[] } {
  const corners: [number, number][] = [];
  const triangles: number[] = [];
  for (let j = 0; j <= down; j += 1) {
    for (let i = 0; i <= across; i += 1) {
      corners.push([x0 + ((x1 - x0) * i) / across, y0 + ((y1 - y0) * j) / down]);
      const [a, b] = [j * (across + 1) + i, (j + 1) * (across + 1) + i];
      if (i < across && j < down) triangles.push(a, a + 1, b, a + 1, b + 1, b);
    }
  }
  return { corners, triangles };
}
