// Checksums of segments: one of each part in the head, and one after the head. Segments of earlier versions have none.
import { crc32 } from 'node:zlib';
import type { ByteSource } from './blobs.ts';
import { DamagedSegment } from './damage.ts';
import type { SegmentRow } from './manifest.ts';
import type { SegmentHead } from './segment-head.ts';

/** After the JSON of a head: a line with its CRC-32. */
const SEAL = /\n([0-9a-f]{8})$/;
const SEAL_BYTES = 9;

/** A head as it is written. */
export function headBytesOf(head: SegmentHead): Buffer {
  const json = Buffer.from(JSON.stringify(head));
  return Buffer.concat([json, Buffer.from(`\n${hex(crc32(json))}`)]);
}

/** A head as it is read. @throws DamagedSegment */
export function headOf(bytes: Buffer, row: SegmentRow): SegmentHead {
  const end = bytes.length - SEAL_BYTES;
  const sealed = SEAL.exec(bytes.toString('latin1', Math.max(0, end)))?.[1];
  const json = sealed === undefined ? bytes : bytes.subarray(0, end);
  if (sealed !== undefined && sealed !== hex(crc32(json)))
    throw damagedAt(row, 'the checksum of its head is wrong');
  try {
    return JSON.parse(json.toString('utf8')) as SegmentHead;
  } catch {
    throw damagedAt(row, 'its head cannot be read');
  }
}

/** The same bytes, each part held to its checksum when it is first read as a whole. */
export function checkedSource(head: SegmentHead, source: ByteSource, row: SegmentRow): ByteSource {
  const { checksums } = head;
  const broken = (why: string): Error => damagedAt(row, why);
  if (checksums === undefined) return { ...source, broken };
  let open: Map<number, Sum> | undefined;
  return {
    broken,
    read: (at, into) => {
      source.read(at, into);
      open ??= sumsOf(checksums);
      const sum = open.get(at);
      if (sum === undefined || sum.length !== into.length) return;
      open.delete(at);
      if (crc32(into) !== sum.crc) throw damagedAt(row, 'the checksum of a column is wrong');
    },
  };
}

/** Reads every part. @throws DamagedSegment */
export function checkParts({ checksums = [] }: SegmentHead, source: ByteSource, row: SegmentRow): void {
  for (const [at, { length, crc }] of sumsOf(checksums)) {
    const bytes = new Uint8Array(length);
    source.read(at, bytes);
    if (crc32(bytes) !== crc) throw damagedAt(row, 'the checksum of a column is wrong');
  }
}

export function damagedAt({ id, file, offset }: SegmentRow, why: string): DamagedSegment {
  return new DamagedSegment(id, { file, offset, why, lost: true });
}

interface Sum {
  readonly length: number;
  readonly crc: number;
}

function sumsOf(checksums: readonly number[]): Map<number, Sum> {
  const byPlace = new Map<number, Sum>();
  for (let i = 0; i < checksums.length; i += 3)
    byPlace.set(checksums[i] as number, {
      length: checksums[i + 1] as number,
      crc: checksums[i + 2] as number,
    });
  return byPlace;
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, '0');
}
