// Entries for those who read along: an entry becomes a message once, however many read it.
import { create } from '@bufbuild/protobuf';
import { type LogEntry, type LogRow, LogRowSchema } from '../../../gen/gateway/admin/v2/logs_pb.ts';
import type { RequestRecord } from '../../call/record.ts';
import { timeText } from '../kit/time.ts';
import { logEntry } from './entry.ts';

const rows = new WeakMap<RequestRecord, LogRow>();
const entries = new WeakMap<RequestRecord, LogEntry>();

/** What a list shows of an entry. */
export function sharedRow(record: RequestRecord): LogRow {
  return shared(rows, record, rowOf);
}

/** The whole entry. */
export function sharedEntry(record: RequestRecord): LogEntry {
  return shared(entries, record, logEntry);
}

function shared<M>(
  known: WeakMap<RequestRecord, M>,
  record: RequestRecord,
  make: (record: RequestRecord) => M,
): M {
  const found = known.get(record);
  if (found !== undefined) return found;
  const made = make(record);
  known.set(record, made);
  return made;
}

function rowOf(record: RequestRecord): LogRow {
  const { id, createdAt, statusCode, model, provider, latencyMs, usage, cost, error } = record;
  const row = create(LogRowSchema);
  row.id = id;
  row.createdAt = timeText(createdAt);
  row.statusCode = statusCode;
  row.model = model;
  row.provider = provider;
  row.latencyMs = latencyMs;
  if (usage !== undefined) row.totalTokens = BigInt(usage.totalTokens);
  if (cost !== undefined) row.costExact = cost;
  if (error !== undefined) row.errorReason = error.reason;
  return row;
}
