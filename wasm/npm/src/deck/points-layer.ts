// Draws points, coloured by the GPU from a value of each.
import type { DefaultProps } from "@deck.gl/core";
import { ScatterplotLayer, type ScatterplotLayerProps } from "@deck.gl/layers";
import { shadingOfPoints, type ShadingProps } from "./shading.js";

type PointsProps = {
  /** How values become colours. With no planes, points have the fill colour. */
  shading: Omit<ShadingProps, "size" | "unit">;
  /** The value of a point. */
  getValue: unknown;
};

const defaultProps: DefaultProps<PointsProps> = {
  shading: { type: "object", value: null as unknown as PointsProps["shading"] },
  getValue: { type: "accessor", value: 0 } as never,
};

/** A batch of a `QueryLayer`. The line colour is that of points without a value. */
export class PointsLayer extends ScatterplotLayer<unknown, PointsProps> {
  static override layerName = "PointsLayer";
  static override defaultProps = defaultProps as DefaultProps<ScatterplotLayerProps>;

  override getShaders() {
    const shaders = super.getShaders();
    const inject = {
      "vs:#decl": "in float instanceValues;",
      "vs:#main-end": `
        if (shading.planes > 0.5) {
          vFillColor = shading_isMissing(instanceValues) ? instanceLineColors : shading_color(instanceValues, 0);
          vFillColor.a *= layer.opacity;
        }`,
    };
    return { ...shaders, modules: [...shaders.modules, shadingOfPoints], inject: { ...shaders.inject, ...inject } };
  }

  override initializeState(): void {
    super.initializeState();
    this.getAttributeManager()?.addInstanced({ instanceValues: { size: 1, accessor: "getValue", defaultValue: 0 } });
  }

  override draw(options: { uniforms: unknown }): void {
    this.state.model?.shaderInputs.setProps({ shading: { ...this.props.shading, size: [1, 1], unit: 1 } });
    super.draw(options as never);
  }
}
