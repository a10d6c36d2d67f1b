// Encodes cells as an Arrow IPC stream, with the types that `hyperslab export` gives them. In JavaScript, because arrow-rs
// would add 108 KB to the engine, most of it to what every page loads.
import { EOS, MessageHeader } from "@uwdata/flechette/src/constants.js";
import { field, type ArrowField } from "@uwdata/flechette/src/data-types.js";
import { Builder } from "@uwdata/flechette/src/encode/builder.js";
import { encodeDictionaryBatch } from "@uwdata/flechette/src/encode/dictionary-batch.js";
import { writeMessage } from "@uwdata/flechette/src/encode/message.js";
import { encodeRecordBatch, type BatchBody } from "@uwdata/flechette/src/encode/record-batch.js";
import { encodeSchema } from "@uwdata/flechette/src/encode/schema.js";
import type { TileArray } from "./array.js";
import { arrowType, buffersOf, withIndices, type ArrowBuffers } from "./arrow-types.js";
import { HyperslabError } from "./errors.js";
import type { RawResult } from "./get.js";
import { Column, type DataType } from "./values.js";

/** A dimension or an attribute that is read. */
interface ReadField { name: string; type: DataType; cell: number | "var"; nullable: boolean; role: "dimension" | "attribute"; enumeration?: string }

/** The bytes of a stream: the schema with the dictionaries, each batch, and the end. @internal */
export async function* arrowStream(array: TileArray, names: readonly string[] | undefined, batches: AsyncIterable<RawResult>): AsyncGenerator<Uint8Array> {
  const fields = fieldsOf(array, names);
  const dictionaries = await Promise.all(fields.map(async ({ name, enumeration }) => (enumeration === undefined ? undefined : array.enumeration(name))));
  yield schemaBytes(array, fields, dictionaries);
  for await (const { columns, cells } of batches) {
    const body = bodyOf(columns.map((raw, i) => buffersOf(new Column(raw), dictionaries[i]?.length)), cells);
    yield messages((builder) => {
      writeMessage(builder, MessageHeader.RecordBatch, encodeRecordBatch(builder, body), body.byteLength);
      for (const buffer of body.buffers) builder.addBuffer(buffer);
    });
  }
  yield EOS.slice();
}

function fieldsOf({ kind, dims, attrs }: TileArray, names: readonly string[] | undefined): ReadField[] {
  const all: ReadField[] = [...dims.map((dim) => ({ ...dim, nullable: false, role: "dimension" as const })), ...attrs.map((attr) => ({ ...attr, role: "attribute" as const }))];
  if (!names) return kind === "sparse" ? all : all.filter(({ role }) => role === "attribute");
  return names.map((name) => {
    const found = all.find((field) => field.name === name);
    if (found) return found;
    throw new HyperslabError("InvalidArgument", `there is no field '${name}'; the fields are ${all.map((field) => field.name).join(", ")}`);
  });
}

function schemaBytes({ kind }: TileArray, fields: readonly ReadField[], dictionaries: readonly (Column | undefined)[]): Uint8Array {
  const arrowFields = fields.map((read, id): ArrowField => {
    const { name, type, cell, nullable, role } = read;
    const metadata = new Map([["tiledb.datatype", type], ["tiledb.cell", String(cell)], ["tiledb.nullable", String(nullable)], ["tiledb.role", role]]);
    const values = dictionaries[id];
    const hasNulls = nullable || values !== undefined || (cell === 1 && /^(datetime|time)_/.test(type));
    return field(name, values ? withIndices(arrowType(values.type, values.cell), type, id) : arrowType(type, cell), hasNulls, metadata);
  });
  return messages((builder) => {
    writeMessage(builder, MessageHeader.Schema, encodeSchema(builder, { fields: arrowFields, metadata: new Map([["tiledb.array_type", kind]]) }), 0);
    dictionaries.forEach((values, id) => {
      if (!values) return;
      const data = bodyOf([buffersOf(values, undefined)], values.length);
      writeMessage(builder, MessageHeader.DictionaryBatch, encodeDictionaryBatch(builder, { id, isDelta: false, data }), data.byteLength);
      for (const buffer of data.buffers) builder.addBuffer(buffer);
    });
  });
}

/** The body of a batch: each buffer starts at a multiple of 8 bytes. */
function bodyOf(columns: readonly ArrowBuffers[], cells: number): BatchBody {
  const nodes = columns.flatMap((column) => column.nodes);
  const buffers = columns.flatMap((column) => column.buffers);
  let byteLength = 0;
  const regions = buffers.map(({ length }) => {
    const offset = byteLength;
    byteLength += Math.ceil(length / 8) * 8;
    return { offset, length };
  });
  return { nodes: nodes.length > 0 ? nodes : [{ length: cells, nullCount: 0 }], regions, buffers, byteLength, variadic: [] };
}

/** The bytes of messages, joined. */
function messages(write: (builder: Builder) => void): Uint8Array {
  const parts: Uint8Array[] = [];
  write(new Builder({ write: (bytes) => void parts.push(bytes) }));
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
