// An entry as it is stored: the members that it is found and rolled up by, and the whole entry as text.
import mongoose from 'mongoose';
import type { RequestRecord } from '../../../call/record.ts';
import { fail, type GatewayError } from '../../../lib/errors.ts';
import { encodeEntry } from '../../log/entry-text.ts';
import { textOf } from '../../log/matches.ts';
import { latencyBucket } from '../../log/rollups.ts';
import { LAST_MS } from './bucket-name.ts';
import { keptText } from './kept-text.ts';

const { Decimal128 } = mongoose.mongo;

/** A whole number of 1e-12 USD. */
export type Money = bigint | mongoose.mongo.Decimal128;

/** The members that filters and roll-ups read. */
export interface EntryColumns {
  organisationId: string;
  workspaceId: string;
  createdAt: number;
  id: string;
  statusCode: number;
  outcome: string;
  traceId: string;
  apiKeyId: string;
  provider: string;
  model: string;
  /** A text of `pairText` for each pair. */
  metadata: string[];
  cost: Money;
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  latencyMs: number;
  latencyUs: number;
  latencyBucket: number;
  /** -1: it has none. Absent of rows that were written before it was stored. */
  firstTokenUs?: number;
  /** Absent: it has none. */
  firstTokenBucket?: number;
  /** What text is looked for in. */
  text: string;
  spanId?: string;
  userId?: string;
  user?: string;
  virtualKey?: string;
  config?: string;
  prompt?: string;
  cacheStatus?: string;
  /** Absent of rows that were written before it was stored, too. */
  errorReason?: string;
  saved?: Money;
  retries?: number;
  rescued?: true;
}

export interface EntryRow extends EntryColumns {
  entry: string;
}

/** Of a row as stored bytes, in UTF-16 units of its two texts: with three bytes each it still fits the server's 16 MiB. */
const LONGEST = 5 * 1024 * 1024;
/** Digits of a sum of money that the server adds up exactly, less those of the number of entries. */
const MONEY = /^\d{1,24}$/;
const LARGEST_LONG = 2n ** 63n - 1n;

/** @param entry its text. Throws `validation_failed` when an entry is broken. */
export function entryRow(record: RequestRecord, entry: string = encodeEntry(record)): EntryRow {
  const row = entryColumns(record) as EntryRow;
  row.entry = entry;
  // Metadata are in the row three times.
  if (entry.length + 2 * row.text.length > LONGEST) throw broken('length');
  return row;
}

/** Without the whole. */
export function entryColumns(record: RequestRecord): EntryColumns {
  checkRecord(record);
  const { usage, metadata, cacheStatus, retries, latencyMs, timeToFirstTokenMs } = record;
  const latencyUs = Math.round(latencyMs * 1000);
  const firstTokenUs = timeToFirstTokenMs === undefined ? -1 : Math.round(timeToFirstTokenMs * 1000);
  const columns: EntryColumns = {
    organisationId: keptText(record.organisationId),
    workspaceId: keptText(record.workspaceId),
    createdAt: record.createdAt,
    id: keptText(record.id),
    statusCode: record.statusCode,
    outcome: record.outcome,
    traceId: keptText(record.traceId),
    apiKeyId: keptText(record.apiKeyId),
    provider: keptText(record.provider),
    model: keptText(record.model),
    metadata: pairsOf(metadata),
    cost: record.cost === undefined ? 0n : moneyOf(record.cost),
    promptTokens: usage?.promptTokens ?? 0,
    completionTokens: usage?.completionTokens ?? 0,
    totalTokens: usage?.totalTokens ?? 0,
    latencyMs,
    latencyUs,
    latencyBucket: latencyBucket(latencyUs),
    firstTokenUs,
    text: keptText(textOf(record)),
  };
  if (firstTokenUs >= 0) columns.firstTokenBucket = latencyBucket(firstTokenUs);
  if (record.spanId !== undefined) columns.spanId = keptText(record.spanId);
  if (record.userId !== undefined) columns.userId = keptText(record.userId);
  if (Object.hasOwn(metadata, '_user')) columns.user = keptText(metadata._user as string);
  if (record.virtualKey !== undefined) columns.virtualKey = keptText(record.virtualKey);
  if (record.config !== undefined) columns.config = keptText(record.config);
  if (record.prompt !== undefined) columns.prompt = keptText(record.prompt);
  if (cacheStatus !== undefined) columns.cacheStatus = keptText(cacheStatus);
  if (record.error !== undefined) columns.errorReason = keptText(record.error.reason);
  if (record.saved !== undefined) columns.saved = moneyOf(record.saved);
  if (retries !== undefined) columns.retries = retries;
  if (record.rescued) columns.rescued = true;
  return columns;
}

/** Money as the server compares and adds it. */
export function moneyOf(digits: string): Money {
  if (!MONEY.test(digits)) throw broken('money');
  const amount = BigInt(digits);
  return amount > LARGEST_LONG ? Decimal128.fromString(digits) : amount;
}

/** A pair of metadata as one text: `key=value`, where the key has no equals sign of its own. */
export function pairText(key: string, value: string): string {
  return pairKey(key) + keptText(value);
}

/** What the texts of a key's pairs begin with. */
export function pairKey(key: string): string {
  const kept = keptText(key);
  return `${/[%=]/.test(kept) ? kept.replaceAll('%', '%25').replaceAll('=', '%3D') : kept}=`;
}

function pairsOf(metadata: RequestRecord['metadata']): string[] {
  const pairs: string[] = [];
  for (const key of Object.keys(metadata)) pairs.push(pairText(key, metadata[key] as string));
  return pairs;
}

function checkRecord(record: RequestRecord): void {
  const { id, traceId, organisationId, workspaceId, createdAt, statusCode, keepDays } = record;
  if (typeof id !== 'string' || typeof traceId !== 'string') throw broken('id and traceId');
  if (typeof organisationId !== 'string' || typeof workspaceId !== 'string') throw broken('scope');
  if (!Number.isSafeInteger(createdAt) || !Number.isSafeInteger(statusCode)) throw broken('numbers');
  if (createdAt < 0 || createdAt >= LAST_MS) throw broken('time');
  if (!Number.isFinite(record.latencyMs)) throw broken('latency');
  if (!Number.isFinite(record.timeToFirstTokenMs ?? 0)) throw broken('time to first token');
  if (keepDays !== undefined && (!Number.isSafeInteger(keepDays) || keepDays < 0)) throw broken('keepDays');
}

export function broken(what: string): GatewayError {
  return fail('validation_failed', `a log entry has broken ${what}`);
}
