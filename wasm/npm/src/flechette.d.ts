// The parts of flechette that encode the messages of Arrow IPC streams. The build puts them into arrow.js.
declare module "@uwdata/flechette/src/encode/builder.js" {
  export class Builder {
    constructor(sink: { write(bytes: Uint8Array): void });
    addBuffer(bytes: Uint8Array): number;
  }
}
declare module "@uwdata/flechette/src/encode/message.js" {
  import type { Builder } from "@uwdata/flechette/src/encode/builder.js";
  export function writeMessage(builder: Builder, header: number, offset: number, bodyLength: number): void;
}
declare module "@uwdata/flechette/src/encode/schema.js" {
  import type { Builder } from "@uwdata/flechette/src/encode/builder.js";
  import type { ArrowField } from "@uwdata/flechette/src/data-types.js";
  export function encodeSchema(builder: Builder, schema: { fields: readonly ArrowField[]; metadata: Map<string, string> }): number;
}
declare module "@uwdata/flechette/src/encode/record-batch.js" {
  import type { Builder } from "@uwdata/flechette/src/encode/builder.js";
  export interface BatchBody { byteLength: number; nodes: { length: number; nullCount: number }[]; regions: { offset: number; length: number }[]; buffers: Uint8Array[]; variadic: never[] }
  export function encodeRecordBatch(builder: Builder, batch: BatchBody): number;
}
declare module "@uwdata/flechette/src/encode/dictionary-batch.js" {
  import type { Builder } from "@uwdata/flechette/src/encode/builder.js";
  import type { BatchBody } from "@uwdata/flechette/src/encode/record-batch.js";
  export function encodeDictionaryBatch(builder: Builder, batch: { id: number; isDelta: boolean; data: BatchBody }): number;
}
declare module "@uwdata/flechette/src/constants.js" {
  export const EOS: Uint8Array;
  export const MessageHeader: { readonly Schema: number; readonly DictionaryBatch: number; readonly RecordBatch: number };
}
declare module "@uwdata/flechette/src/data-types.js" {
  export interface ArrowType { readonly typeId: number }
  export interface ArrowField { readonly name: string; readonly type: ArrowType; readonly nullable: boolean }
  export function field(name: string, type: ArrowType, nullable?: boolean, metadata?: Map<string, string>): ArrowField;
  export function int(bitWidth: number, signed: boolean): ArrowType;
  export function float(precision: number): ArrowType;
  export function timestamp(unit: number): ArrowType;
  export function duration(unit: number): ArrowType;
  export function dateDay(): ArrowType;
  export function bool(): ArrowType;
  export function utf8(): ArrowType;
  export function binary(): ArrowType;
  export function list(child: ArrowField): ArrowType;
  export function fixedSizeList(child: ArrowField, stride: number): ArrowType;
  export function dictionary(values: ArrowType, indices: ArrowType, ordered: boolean, id: number): ArrowType;
}
