// Parts of encoded descriptors by where they begin and end.
import type { BinaryReader } from '@bufbuild/protobuf/wire';

/** Where a message is in its file's bytes. */
export interface Slice {
  readonly from: number;
  readonly to: number;
}

/** The message that a reader is at, which it passes. */
export function slice(reader: BinaryReader): Slice {
  const length = reader.uint32();
  const from = reader.pos;
  reader.pos = from + length;
  return { from, to: reader.pos };
}
