// Results of asynchronous guardrails that end after their call's entry is closed: a record next to the entry's bodies,
// with their time to live, found by the entry and the place of the guardrail's span in it.
import type { BodiesRecord } from '../store/log-store.ts';
import { maskedText } from './masked-text.ts';

/** The side of a call that a guardrail examined. */
export type HookSide = 'before' | 'after';

/** The result of one guardrail. */
export interface LateHook {
  readonly entry: Pick<BodiesRecord, 'id' | 'organisationId' | 'workspaceId' | 'createdAt'>;
  /** The place of its span among the entry's. */
  readonly place: number;
  readonly side: HookSide;
  readonly verdict: string;
  readonly latencyMs: number;
  /** As answers show it; absent when bodies are not kept, or when the hook did not finish. */
  readonly result?: object | undefined;
  /** Texts that must not be kept. */
  readonly secrets?: readonly string[];
}

/** As it is read. */
export type KeptLateHook = Pick<LateHook, 'side' | 'verdict' | 'latencyMs' | 'result'>;

/** The id that it is kept under. */
export function lateHookId(entryId: string, place: number): string {
  return `${entryId}.guardrail-${place}`;
}

export function lateHookRecord(late: LateHook, keepDays: number | undefined): BodiesRecord {
  const { entry, place, side, verdict, latencyMs, result, secrets = [] } = late;
  return {
    ...entry,
    id: lateHookId(entry.id, place),
    ...(keepDays === undefined ? {} : { keepDays }),
    request: {},
    response: {},
    hooks: maskedText(JSON.stringify({ side, verdict, latencyMs, result } satisfies KeptLateHook), secrets),
  };
}

/** Undefined for what is none. */
export function keptLateHook({ hooks }: BodiesRecord): KeptLateHook | undefined {
  if (hooks === undefined) return undefined;
  try {
    return JSON.parse(hooks) as KeptLateHook;
  } catch {
    // A secret that spanned characters of the JSON syntax.
    return undefined;
  }
}
