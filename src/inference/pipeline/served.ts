// The answer of an attempt after its guardrails.
import type { HookRun } from '../../checks/runner/hook-result.ts';

/** What an attempt brought, and what the guardrails said to it. */
export interface Served<Answer> {
  readonly answer: Answer;
  /** 200, or 246 where a check failed without deny. */
  readonly status: number;
  readonly input: HookRun | undefined;
  readonly output: HookRun | undefined;
  /** Whether the results stand in the answer; with strict compliance not in streams. */
  readonly tells: boolean;
  /** Whether the answer may be kept for others. Of a stream: known when it is over. */
  readonly keeps: () => boolean;
  /** Of a guarded stream: what its guardrails came to, once it is over. */
  readonly closing?: (() => HookRun | undefined) | undefined;
}
