// The note on a hold: enough of its call to write an entry when the call's process is gone before the call ends.
import type { AttemptRecord, RequestRecord } from '../../call/record.ts';
import { budgetNamed, chargedBudgets } from '../charged-budgets.ts';
import type { Estimate } from './estimate.ts';

/** A call as it is known when it is admitted. */
export type AdmittedCall = Pick<
  RequestRecord,
  | 'id'
  | 'traceId'
  | 'workspaceId'
  | 'apiKeyId'
  | 'createdAt'
  | 'operation'
  | 'protocol'
  | 'method'
  | 'path'
  | 'provider'
  | 'model'
  | 'metadata'
>;

/** A note's members. */
interface Note {
  readonly call: AdmittedCall;
  readonly estimate: Estimate;
  /** Of the estimate, in 1e-12 USD; absent when the price is not known. */
  readonly cost?: string;
  /** Keys of the money budgets that it is held in. */
  readonly budgets?: readonly string[];
  /** Which process writes lines of the call before a provider sees it (see flights.ts); absent: none does. */
  readonly lines?: string;
}

/** Longest note that a hold takes, in UTF-16 units. */
const LONGEST = 4096;

/** The note of a call; without its metadata when those are too long, and undefined when all is. */
export function noteOf(
  call: AdmittedCall,
  estimate: Estimate,
  cost: bigint | undefined,
  budgets?: readonly string[],
  lines?: string,
): string | undefined {
  const note: Note = {
    call,
    estimate,
    ...(lines === undefined ? {} : { lines }),
    ...(cost === undefined ? {} : { cost: cost.toString() }),
    ...(budgets === undefined ? {} : { budgets }),
  };
  const text = JSON.stringify(note);
  if (text.length <= LONGEST) return text;
  const short = JSON.stringify({ ...note, call: { ...call, metadata: {} } });
  return short.length <= LONGEST ? short : undefined;
}

/** The note of a hold whose call is recorded elsewhere. @param lines as of `Note` */
export function linesNote(lines: string | undefined): string | undefined {
  return lines === undefined ? undefined : JSON.stringify({ lines });
}

/** Which process writes the lines of what is held; undefined: none, or an earlier version held it. */
export function linesOf(text: string): string | undefined {
  const { lines } = parsed(text);
  return typeof lines === 'string' ? lines : undefined;
}

/**
 * The entry of a call that broke off with its process: it costs what was held for it, marked as an estimate.
 * Undefined: the note holds too little.
 * @param held the budgets that it is held in, in the order of the note: one may be another than was asked for
 */
export function interruptedEntry(
  organisationId: string,
  text: string,
  expiredAt: number,
  held: readonly { readonly key: string }[] = [],
): RequestRecord | undefined {
  const note = readNote(text);
  if (note === undefined) return undefined;
  const { call, estimate, cost, budgets } = note;
  const { input, output } = estimate;
  const usage = { promptTokens: input, completionTokens: output, totalTokens: input + output };
  const priced = cost === undefined ? { unpriced: true as const } : { cost };
  const common = {
    provider: call.provider,
    model: call.model,
    statusCode: 0,
    outcome: 'interrupted' as const,
    latencyMs: Math.max(0, expiredAt - call.createdAt),
    usage,
    usageEstimated: true as const,
    error: { reason: 'interrupted', message: 'the process that made the call ended before the call did' },
    ...priced,
  };
  const attempt: AttemptRecord = { ...common, id: `${call.id}-held`, host: '', startedAt: call.createdAt };
  const charged =
    budgets === undefined ? {} : { budgets: budgets.map((name, i) => heldIn(name, held[i]?.key)) };
  return {
    ...call,
    ...common,
    ...charged,
    organisationId,
    responseModel: '',
    streamed: false,
    attempts: [attempt],
  };
}

function heldIn(name: string, key: string | undefined): string {
  const { key: asked, type } = budgetNamed(name);
  return key === undefined || key === asked ? name : (chargedBudgets([{ key, type }])?.[0] ?? name);
}

/** Undefined for text that is no note: another version of the program may have written it. */
function readNote(text: string): Note | undefined {
  const note = parsed(text);
  return note.call && note.estimate ? (note as Note) : undefined;
}

function parsed(text: string): Partial<Note> {
  try {
    return (JSON.parse(text) ?? {}) as Partial<Note>;
  } catch {
    return {};
  }
}
