// What is written of calls in flight: a line before each attempt, a line with the entry when the call has ended.

import type { ChargedTo } from '../../call/account.ts';
import type { Call } from '../../call/call.ts';
import type { AttemptRecord, RequestRecord } from '../../call/record.ts';
import { type EntryTuple, entryRecord } from '../../store/log/entry-tuple.ts';
import type { SettleRequest } from '../../store/shared-state.ts';
import type { AdmittedCall } from '../limits/hold-note.ts';

/** An attempt as it is known before the provider is called. */
export interface AttemptNote {
  readonly id: string;
  readonly provider: string;
  readonly host: string;
  readonly model: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** The most that it may use, in tokens. */
  readonly input: number;
  readonly output: number;
  /** Names of the budgets that the hold of the attempt's own id is charged to; undefined: it has none. */
  readonly budgets?: readonly string[] | undefined;
}

/** A call as an attempt's line records it. */
export interface CallNote {
  readonly call: AdmittedCall & { readonly organisationId: string };
  readonly streamed: boolean;
  /** The call has a hold of its own id, which is charged to these. */
  readonly held: readonly ChargedTo[] | undefined;
  readonly attempt: AttemptNote;
  /** Attempts of the call that had ended before. */
  readonly ended: readonly AttemptRecord[];
}

/** The end of a call. */
export interface EndNote {
  readonly entry: RequestRecord;
  /** The settlement of the call's hold, without its entry. */
  readonly order: Omit<SettleRequest, 'entry'> | undefined;
}

export type Line =
  | { readonly kind: 'attempt'; readonly note: CallNote }
  | { readonly kind: 'end'; readonly note: EndNote }
  | { readonly kind: 'release'; readonly organisationId: string; readonly id: string };

/**
 * The line of an attempt, put together by hand: one is written for every call, and JSON.stringify of the objects costs
 * five times as much.
 * @param file the number of the file that it goes to: it tells these lines from an earlier use of the file
 */
export function attemptLine(
  file: number,
  call: Call,
  attempt: AttemptNote,
  held: readonly ChargedTo[] | undefined,
): string {
  const { source, principal, record, method } = call;
  const { metadata, attempts } = record;
  // Ids, and names that the gateway gives, need no escaping in JSON.
  return `A${file}["${call.id}",${text(call.traceId)},"${principal?.organisationId ?? ''}","${
    principal?.workspaceId ?? ''
  }","${principal?.keyId ?? ''}",${call.arrivedAt},"${method.parent.typeName}/${method.name}","${
    source.protocol
  }","${source.httpMethod}",${text(source.path)},${isEmpty(metadata) ? '{}' : JSON.stringify(metadata)},${
    record.streamed ? 1 : 0
  },"${attempt.id}","${attempt.provider}","${attempt.host}",${text(attempt.model)},${
    attempt.startedAt
  },${attempt.input},${attempt.output},${held === undefined ? '0' : JSON.stringify(held)},${
    attempts.length === 0 ? '0' : JSON.stringify(attempts)
  }${attempt.budgets === undefined ? '' : `,${JSON.stringify(attempt.budgets)}`}]\n`;
}

/** The line of an end. @param entry as `encodeEntry` writes it */
export function endLine(file: number, entry: string, order: EndNote['order']): string {
  return `E${file}[${orderText(order)},${entry}]\n`;
}

/** The line of a hold to release. */
export function releaseLine(file: number, organisationId: string, id: string): string {
  return `L${file}["${organisationId}","${id}"]\n`;
}

/** The same lines for another file. */
export function movedLines(lines: string, file: number): string {
  return lines.replace(/^([AEL])\d+\[/gm, `$1${file}[`);
}

/** The content of a line; undefined for one of another file, and for one that is incomplete. */
export function readLine(file: number, line: string): Line | undefined {
  const head = /^([AEL])(\d+)\[/.exec(line);
  if (head === null || Number(head[2]) !== file) return undefined;
  try {
    const values = JSON.parse(line.slice(head[0].length - 1)) as unknown[];
    switch (head[1]) {
      case 'A':
        return { kind: 'attempt', note: attemptOf(values) };
      case 'L':
        return { kind: 'release', organisationId: String(values[0]), id: String(values[1]) };
      default:
        return { kind: 'end', note: endOf(values) };
    }
  } catch {
    // Cut off by the end of its process, or by a full disk.
    return undefined;
  }
}

type AttemptValues = [
  ...[id: string, traceId: string, organisationId: string, workspaceId: string, apiKeyId: string],
  ...[createdAt: number, operation: string, protocol: string, method: string, path: string],
  ...[metadata: Readonly<Record<string, string>>, streamed: 0 | 1],
  ...[attemptId: string, provider: string, host: string, model: string],
  ...[startedAt: number, input: number, output: number],
  ...[held: readonly ChargedTo[] | 0, ended: readonly AttemptRecord[] | 0, budgets?: readonly string[]],
];

function attemptOf(values: unknown[]): CallNote {
  const v = values as AttemptValues;
  return {
    call: {
      id: v[0],
      traceId: v[1],
      organisationId: v[2],
      workspaceId: v[3],
      apiKeyId: v[4],
      createdAt: v[5],
      operation: v[6],
      protocol: v[7],
      method: v[8],
      path: v[9],
      metadata: v[10],
      provider: v[13],
      model: v[15],
    },
    streamed: v[11] === 1,
    attempt: {
      id: v[12],
      provider: v[13],
      host: v[14],
      model: v[15],
      startedAt: v[16],
      input: v[17],
      output: v[18],
      ...(v[21] === undefined ? {} : { budgets: v[21] }),
    },
    held: v[19] === 0 ? undefined : v[19],
    ended: v[20] === 0 ? [] : v[20],
  };
}

function endOf([order, entry]: unknown[]): EndNote {
  return { entry: entryRecord(entry as EntryTuple), order: readOrder(order as OrderValues | 0) };
}

/** Amounts as decimal text: JSON has no such numbers. */
type OrderValues = [
  id: string,
  charges: readonly (readonly [key: string, amount: string])[] | null,
  costs: SettleRequest['costs'] | null,
];

function orderText(order: EndNote['order']): string {
  if (order === undefined) return '0';
  const { id, charges, costs } = order;
  const amounts = charges?.map(({ key, amount }) => [key, amount.toString()]);
  return JSON.stringify([id, amounts ?? null, costs ?? null]);
}

function readOrder(values: OrderValues | 0): EndNote['order'] {
  if (values === 0) return undefined;
  const [id, charges, costs] = values;
  return {
    id,
    ...(charges === null
      ? {}
      : { charges: charges.map(([key, amount]) => ({ key, amount: BigInt(amount) })) }),
    ...(costs === null || costs === undefined ? {} : { costs }),
  };
}

/** Characters that JSON escapes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in strings
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;

function text(value: string): string {
  return ESCAPED.test(value) ? JSON.stringify(value) : `"${value}"`;
}

function isEmpty(members: object): boolean {
  for (const _ in members) return false;
  return true;
}
