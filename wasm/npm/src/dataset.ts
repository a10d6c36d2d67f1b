// The descriptions that `describe` returns. Their names are those of the JSON of `hyperslab info --json`.

/** What an array or a group holds. Paths are relative to what was described; its own path is empty. */
export interface Dataset {
  /** The application whose layout it follows. */
  application: "cf" | "gdal_raster" | "gdal_vector" | "gdal_multidim" | "bioimg" | "soma" | "pdal" | "vcf" | "vector_search" | "pandas" | "hyperslab" | "bare";
  /** The version of that layout. */
  version?: string;
  /** Its name: that of the group member, or empty for what was described. */
  name: string;
  /** Its path. */
  path: string;
  /** Its title. */
  title?: string;
  /** The arrays of numbers. With levels, only the finest. */
  variables?: Variable[];
  /** The coordinate reference systems. */
  crs?: Crs[];
  /** The same data at several resolutions, finest first. */
  levels?: DatasetLevel[];
  /** The channels of an image, or the bands of a raster. */
  channels?: Channel[];
  /** The tables: rows and columns, points, or geometries. */
  tables?: Table[];
  /** The matrices that give each row of a table a position in a space. */
  embeddings?: Embedding[];
  /** The datasets inside this one. */
  children?: Dataset[];
  /** Other facts that the application stored, by their own names. */
  attributes?: Record<string, unknown>;
  /** What is odd, missing or left out. */
  notes?: string[];
}

/** An attribute of an array, with the meaning of its values and axes. */
export interface Variable {
  /** Its name. */
  name: string;
  /** The path of the array. */
  path: string;
  /** The attribute of the array. */
  attribute: string;
  /** The type of the stored values. */
  datatype: string;
  /** Its use. */
  role: "data" | "coordinate" | "auxiliary" | "bounds" | "grid_mapping";
  /** Whether absent cells are zeros: the array is a sparse matrix. */
  sparse?: boolean;
  /** Its axes, in the order of the array's dimensions. */
  axes: Axis[];
  /** The unit of the unpacked values. */
  unit?: string;
  /** The calendar of the values, if they are times. */
  calendar?: string;
  /** A description for people. */
  long_name?: string;
  /** Its CF standard name. */
  standard_name?: string;
  /** How to unpack stored values. */
  packing?: ValuePacking;
  /** Which stored values mean "no data". */
  missing?: MissingValues;
  /** Its coordinate reference system, as an index into `crs` of the dataset. */
  crs?: number;
  /** Where it lies: x = g[0] + column·g[1] + row·g[2], y = g[3] + column·g[4] + row·g[5], at the outer corner of a cell. */
  geotransform?: [number, number, number, number, number, number];
  /** Names of variables with more coordinates. */
  coordinates?: string[];
  /** The name of the variable with the bounds of each value. */
  bounds?: string;
  /** The meanings of single values. */
  flags?: Flag[];
  /** The enumeration whose values the stored integers index. */
  enumeration?: string;
  /** Other facts that the application stored, by their own names. */
  attributes?: Record<string, unknown>;
}

/** An axis of a variable. */
export interface Axis {
  /** Its name. */
  name: string;
  /** The dimension of the array. */
  dimension: string;
  /** Its direction. */
  role: "x" | "y" | "z" | "time" | "channel" | "row" | "column" | "other";
  /** Whether only the name of the dimension tells the role. */
  guessed?: boolean;
  /** The coordinate in the array of the first position. */
  first?: number;
  /** The number of positions. Less than the dimension's if that is padded or has room to grow. */
  length?: number;
  /** Cells from one position to the next, if more than 1: the samples of a pixel follow each other. */
  stride?: number;
  /** Whether the first position of a y axis is drawn at the top. */
  down?: boolean;
  /** The unit of the coordinates. */
  unit?: string;
  /** The calendar of the coordinates, if they are times. */
  calendar?: string;
  /** A description for people. */
  long_name?: string;
  /** Its CF standard name. */
  standard_name?: string;
  /** Where the coordinates are. */
  coordinates: AxisCoordinates;
  /** The path of the table that has a row for each position, by the row's key. */
  table?: string;
}

/** Evenly spaced coordinates: that of the first position's centre, and the distance to the next. */
export interface EvenlySpaced {
  /** The coordinate at the centre of the first position. */
  start: number;
  /** The difference between neighbours. Negative if they fall. */
  step: number;
}

/** Where coordinates are: nowhere (positions are only numbered), the dimension's own, evenly spaced, or in an array. */
export type AxisCoordinates = UnstoredCoordinates | RegularCoordinates | StoredCoordinates;

/** Positions are only numbered (`index`), or the dimension's own values are the coordinates (`dimension`). */
export interface UnstoredCoordinates {
  /** Which of both. */
  type: "index" | "dimension";
}

/** Coordinates by a formula. */
export interface RegularCoordinates extends EvenlySpaced {
  /** Says so. */
  type: "regular";
}

/** Coordinates in a one-dimensional array. */
export interface StoredCoordinates {
  /** Says so. */
  type: "array";
  /** The path of the array. */
  path: string;
  /** The attribute of the array. */
  attribute: string;
  /** Whether the values fall. */
  descending?: boolean;
  /** The same values as a formula, if they are evenly spaced. */
  regular?: EvenlySpaced;
}

/** A packing: value = stored · scale + offset, after the test for missing values. */
export interface ValuePacking {
  /** The factor. */
  scale: number;
  /** The value of a stored 0. */
  offset: number;
}

/** Which stored values mean "no data". Compare before unpacking. */
export interface MissingValues {
  /** These values. */
  values?: unknown[];
  /** Values below this one. */
  valid_min?: unknown;
  /** Values above this one. */
  valid_max?: unknown;
}

/** The meaning of one value. */
export interface Flag {
  /** The value, or the bits that are set if there is a mask. */
  value: unknown;
  /** The bits to compare; all if absent. */
  mask?: unknown;
  /** What it means. May be empty if only the colour is known. */
  meaning: string;
  /** Its colour: red, green, blue, alpha. */
  color?: [number, number, number, number];
}

/** A coordinate reference system, in each form that was stored. */
export interface Crs {
  /** Its name. */
  name?: string;
  /** Its code, such as `EPSG:32633`. */
  code?: string;
  /** Well-known text, version 1 or 2. */
  wkt?: string;
  /** PROJJSON. */
  projjson?: unknown;
  /** The attributes of a CF grid mapping. */
  cf?: Record<string, unknown>;
  /** Whether the first axis of the CRS is y. Coordinates in the data are x, y in any case. */
  y_first?: boolean;
}

/** One resolution of the data. */
export interface DatasetLevel {
  /** The path of the array. */
  path: string;
  /** The number of positions along each axis. */
  shape: number[];
  /** How many positions of the finest level one position covers, along each axis. */
  factors: number[];
  /** Where it lies, as in a variable. */
  geotransform?: [number, number, number, number, number, number];
}

/** A channel of an image, or a band of a raster. */
export interface Channel {
  /** Its name. */
  name?: string;
  /** The name of the variable. */
  variable: string;
  /** Its coordinate along the channel axis; absent if the whole variable is the channel. */
  index?: number;
  /** What it shows: `red`, `green`, `blue`, `alpha`, `gray`, `palette` or another word of the application. */
  interpretation?: string;
  /** The colour to draw it in: red, green, blue, alpha. */
  color?: [number, number, number, number];
  /** The values to draw darkest and brightest. */
  range?: [number, number];
  /** The unit of the unpacked values. */
  unit?: string;
  /** How to unpack stored values. */
  packing?: ValuePacking;
  /** The emission wavelength, with its unit. */
  wavelength?: string;
}

/** A table: each cell of the array is a row. */
export interface Table {
  /** Its name. */
  name: string;
  /** The path of the array. */
  path: string;
  /** The number of rows. */
  rows?: number;
  /** Names of the columns that identify a row. */
  key?: string[];
  /** The columns: dimensions first. */
  columns: TableColumn[];
  /** Names of the columns with the coordinates of a point: x, y and perhaps z. */
  points?: string[];
  /** The column of geometries. */
  geometry?: Geometry;
  /** The unit of the coordinates. */
  unit?: string;
  /** The coordinate reference system, as an index into `crs` of the dataset. */
  crs?: number;
}

/** A column of a table. */
export interface TableColumn {
  /** Its name. */
  name: string;
  /** The type of the stored values. */
  datatype: string;
  /** The type that the application gives it, if it says more than the datatype: `category`, `bool`. */
  logical?: string;
  /** Whether it is a dimension of the array. */
  dimension?: boolean;
  /** Whether cells may be null. */
  nullable?: boolean;
  /** The enumeration whose values the stored integers index. */
  enumeration?: string;
  /** The unit of the values. */
  unit?: string;
  /** The bits of another field that hold the values: `(field >> shift) & (2 ** width - 1)`. */
  bits?: BitField;
}

/** A column of geometries in well-known binary. */
export interface Geometry {
  /** The column. */
  column: string;
  /** The type of the geometries, such as `Polygon`. */
  type?: string;
  /** What to widen a box by, along x, y and z, to find every geometry in it. */
  pad?: number[];
  /** Names of the columns with each geometry's box: all smallest values, then all largest. */
  box?: string[];
}

/** A matrix whose rows are positions in a space. */
export interface Embedding {
  /** Its name. */
  name: string;
  /** The path of the array. */
  path: string;
  /** The attribute of the array. */
  attribute: string;
  /** The dimension that counts the rows. */
  rows: string;
  /** The dimension that counts the components. */
  components: string;
  /** The number of rows. */
  row_count?: number;
  /** The number of components. */
  component_count?: number;
  /** The path of the table whose rows it places, by their key. */
  table?: string;
  /** The path of the array with the identifier of each row. */
  ids?: string;
}

/** A value in some bits of a column. */
export interface BitField {
  /** The column. */
  of: string;
  /** Its lowest bit. */
  shift: number;
  /** The number of its bits. */
  width: number;
}
