// Coordinates of arrays: numbers, or bigints for 64-bit integers, dates and times.

/** A coordinate of an array. */
export type Coordinate = number | bigint;

/** The coordinate `steps` after another one, in its type. */
export function shifted(coordinate: Coordinate, steps: number): Coordinate {
  return typeof coordinate === "bigint" ? coordinate + BigInt(Math.round(steps)) : coordinate + Math.round(steps);
}

/** The number of coordinates from one to another. */
export function distance(from: Coordinate, to: Coordinate): number {
  return Number(whole(to) - whole(from));
}

function whole(coordinate: Coordinate): bigint {
  return typeof coordinate === "bigint" ? coordinate : BigInt(Math.round(coordinate));
}
