export { init, type Part, type WasmFile, type WasmInput, type WasmSource, type WasmSources } from "./engine.js";
export { HyperslabError, isHyperslabError, type ErrorCode } from "./errors.js";
export { MemoryStore, type Store, type Priority, type StoreEntry, type StoreOptions } from "./store.js";
export { DirectoryStore, OpfsStore } from "./directory.js";
export { HttpStore, type HttpOptions, type Listing, type RequestEvent, type RequestToSign, type Signature } from "./http.js";
export {
  TileArray,
  type Attr, type CallOptions, type CoordinateOf, type Dim, type DimOf, type Extreme, type FragmentInfo, type Pooled, type StoredField, type StoredSchema, type Timestamp, type OpenOptions,
} from "./array.js";
export { Group, kindOf, open, type Kind, type Member, type TreeNode, type TreeOptions } from "./group.js";
export type { Progress } from "./progress.js";
export { list, slice, type AxisSelection, type Coordinate, type List, type Ranges, type Selection, type Slice } from "./select.js";
export { describe, levels, type DatasetSource, type LevelsOptions, type PyramidLevel } from "./describe.js";
export type { Axis, AxisCoordinates, BitField, Channel, Crs, Dataset, DatasetLevel, Embedding, EvenlySpaced, Flag, Geometry, MissingValues, RegularCoordinates, StoredCoordinates, Table, TableColumn, UnstoredCoordinates, ValuePacking, Variable } from "./dataset.js";
export { get, type Chunk, type GetOptions, type Order, type TilePart } from "./get.js";
export { query, Query, type Columns, type QueryOptions } from "./query.js";
export { csr, points, toDense, type Csr, type Dense, type MatrixFields, type PointFields, type Points } from "./sparse.js";
export { prefetch, type PlannedRequest, type PlannedTile, type PlanOptions, type PrefetchOptions, type ReadPlan } from "./plan.js";
export { copy, type CopyOptions } from "./copy.js";
export { consolidate, deleteCells, vacuum, type ConsolidateOptions, type DeletedCells, type DeleteOptions, type Mode, type VacuumOptions } from "./maintain.js";
export { create, put, writeManifest, type AttrInput, type CreateOptions, type DimInput, type FilterInput, type PutData, type PutOptions, type SchemaInput } from "./write.js";
export { FragmentWriter, writer, type WriterOptions } from "./writer.js";
export { evolve, type EnumerationInput, type EvolveOptions, type SchemaChanges } from "./evolve.js";
export { createGroup, putMembers, putMeta, type ChangeOptions, type MemberInput, type MetaInput } from "./metadata.js";
export { Mount, mount, type DirEntry, type Stat } from "./mount.js";
export { respond, type RespondOptions } from "./respond.js";
export { asZarrita, type ZarrRange, type ZarrStore } from "./zarr.js";
export { Column, type ArrayOf, type ColumnInput, type DataType, type Fields, type PlainColumn, type TypedArray, type TypeOf, type Value, type ValueOf } from "./values.js";
