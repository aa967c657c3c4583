// Bodies of entries: compressed, in their own buckets.
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import mongoose from 'mongoose';
import type { BodiesRecord, BodyRecord } from '../../log-store.ts';
import type { Deadline } from '../calls.ts';
import { bucketOf, LAST_MS } from './bucket-name.ts';
import type { BucketRows, RowKey } from './entry-appends.ts';
import type { CheckedScope } from './entry-filter.ts';
import { KEY_INDEX } from './entry-indexes.ts';
import { broken } from './entry-row.ts';
import { keptText } from './kept-text.ts';
import { LARGEST_TEXT } from './largest-text.ts';
import type { LogPlace } from './place.ts';

export interface BodiesRow extends RowKey {
  readonly workspaceId: string;
  /** The record as JSON, compressed (zstd). */
  readonly data: mongoose.mongo.Binary;
}

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
/** A document of the server has 16 MiB. */
const LARGEST = 15 * 1024 * 1024;
/** Compressed at once. */
const TOGETHER = 8;

/** Rows by their buckets, each key once. */
export async function bodiesByBucket(batch: readonly BodiesRecord[]): Promise<BucketRows<BodiesRow>[]> {
  const unique = new Map(
    batch.map((record) => [JSON.stringify([record.organisationId, record.createdAt, record.id]), record]),
  );
  const records = [...unique.values()];
  const buckets = new Map<string, BodiesRow[]>();
  for (let at = 0; at < records.length; at += TOGETHER) {
    const part = records.slice(at, at + TOGETHER);
    const rows = await Promise.all(part.map(bodiesRow));
    for (const [index, row] of rows.entries()) {
      const { name } = bucketOf('bodies', row.createdAt, part[index]?.keepDays);
      const own = buckets.get(name);
      if (own) own.push(row);
      else buckets.set(name, [row]);
    }
  }
  return [...buckets].map(([name, rows]) => ({ name, rows }));
}

async function bodiesRow(record: BodiesRecord): Promise<BodiesRow> {
  const { id, organisationId, workspaceId, createdAt, keepDays } = record;
  if (typeof id !== 'string' || typeof organisationId !== 'string' || typeof workspaceId !== 'string')
    throw broken('ids');
  if (!Number.isSafeInteger(createdAt) || createdAt < 0 || createdAt >= LAST_MS) throw broken('time');
  if (keepDays !== undefined && (!Number.isSafeInteger(keepDays) || keepDays < 0)) throw broken('keepDays');
  const whole = await compressed(record);
  const data = whole.length <= LARGEST ? whole : await compressed(withoutBodies(record));
  return { organisationId, workspaceId, createdAt, id: keptText(id), data: new mongoose.mongo.Binary(data) };
}

function compressed(record: BodiesRecord): Promise<Buffer> {
  return compress(JSON.stringify(record), { params: { [constants.ZSTD_c_compressionLevel]: 3 } });
}

/** Of what no document can hold the rest is kept, and how much is missing. */
function withoutBodies(record: BodiesRecord): BodiesRecord {
  const { request, response, transformedRequest, originalResponse } = record;
  return {
    ...record,
    request: withoutBody(request),
    response: withoutBody(response),
    ...(transformedRequest ? { transformedRequest: withoutBody(transformedRequest) } : {}),
    ...(originalResponse ? { originalResponse: withoutBody(originalResponse) } : {}),
  };
}

function withoutBody({ body, base64: _, truncated = 0, ...rest }: BodyRecord): BodyRecord {
  const length = body === undefined ? 0 : Buffer.byteLength(body);
  return length + truncated === 0 ? rest : { ...rest, truncated: truncated + length };
}

/** The bodies of an entry's request and response. */
export async function findBodies(
  { database, buckets }: LogPlace,
  { organisationId, workspaceId }: CheckedScope,
  id: string,
  createdAt: number,
  deadline: Deadline,
): Promise<BodiesRecord | undefined> {
  for (const { name } of await buckets.list('bodies', deadline, createdAt, createdAt + 1)) {
    const row = await database
      .collection<BodiesRow>(name)
      .find({ organisationId, createdAt, id: keptText(id) })
      .hint(KEY_INDEX)
      .maxTimeMS(deadline.remaining())
      .next();
    if (row && (workspaceId === null || row.workspaceId === workspaceId)) return bodiesOf(row);
  }
  return undefined;
}

export async function bodiesOf(row: Pick<BodiesRow, 'data'>): Promise<BodiesRecord> {
  const text = await decompress(row.data.buffer, { maxOutputLength: LARGEST_TEXT });
  return JSON.parse(text.toString()) as BodiesRecord;
}
