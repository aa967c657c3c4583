// The books as a whole, for copies: entries in order of arrival, bodies frame by frame, feedback.
import { decodeEntries } from '../../log/entry-text.ts';
import type { BodiesRecord, FeedbackRecord, LogStore } from '../../log-store.ts';
import { type LogMaintenance, SCAN_LIMITS } from '../../maintenance.ts';
import { checkScan } from '../../maintenance-checks.ts';
import type { ReaderCall, WriterCall } from '../protocol.ts';
import type { WorkerClient } from '../worker-client.ts';
import type { CompactionStore } from './compaction-store.ts';
import { addCall } from './feedback.ts';
import type { LogReaderCall } from './protocol.ts';

/** A place of arrival, or of a row. */
const POSITION = /^\d{1,15}$/;
/** A file of bodies and a frame in it. */
const FRAME = /^bodies-[\w.-]{1,60}\.db:\d{1,15}$/;

export function logMaintenance(
  writer: WorkerClient<WriterCall>,
  documents: WorkerClient<ReaderCall>,
  reader: WorkerClient<LogReaderCall>,
  store: Pick<LogStore, 'append' | 'appendBodies'> & Pick<CompactionStore, 'remakeRollups'>,
): LogMaintenance {
  const { characters } = SCAN_LIMITS;
  return {
    importEntries: store.append,
    // One set of roll-ups covers all organisations.
    remakeRollups: (_, at) => store.remakeRollups(at),

    scan: async (request) => {
      const { limit, after } = checkScan(request, POSITION);
      const rows = await reader.call<[number, string][]>({
        kind: 'scan',
        after: Number(after ?? 0),
        limit,
        characters,
      });
      const last = rows.at(-1);
      const entries = await decodeEntries(rows.map(([, entry]) => entry));
      return { entries, ...(last === undefined ? {} : { next: String(last[0]) }) };
    },

    bodies: {
      scan: async (request) => {
        const { after } = checkScan(request, FRAME);
        const [file = '', frame] = after?.split(':') ?? [];
        const found = await reader.call<{ lines: string[]; file: string; frame: number } | null>({
          kind: 'scanBodies',
          after: after === undefined ? null : [file, Number(frame)],
        });
        if (found === null) return { records: [] };
        const records = found.lines.map((line) => JSON.parse(line) as BodiesRecord);
        return { records, next: `${found.file}:${found.frame}` };
      },
      import: store.appendBodies,
    },

    feedback: {
      scan: async (request) => {
        const { limit, after } = checkScan(request, POSITION);
        const rows = await documents.call<[number, string][]>({
          kind: 'scanFeedback',
          after: Number(after ?? 0),
          limit,
          characters,
        });
        const last = rows.at(-1);
        const records = rows.map(([, record]) => JSON.parse(record) as FeedbackRecord);
        return { records, ...(last === undefined ? {} : { next: String(last[0]) }) };
      },
      import: async (records) => {
        if (records.length > 0) await writer.call(...addCall(records, true));
      },
    },
  };
}
