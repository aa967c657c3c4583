// What guardrails said, noted for the call's entry.
import type { Call } from '../../call/call.ts';
import type { HookRun } from '../../checks/runner/hook-result.ts';

/** A span for each hook that ran, and the results for the call's bodies. */
export function noteHooks(call: Call, run: HookRun | undefined, side: 'before' | 'after'): void {
  if (run === undefined) return;
  const { record, bodies } = call;
  record.spans ??= [];
  for (const result of run.results) {
    if ('skipped' in result) continue;
    record.spans.push({
      kind: 'guardrail',
      name: result.id,
      startedAt: Date.parse(result.created_at),
      latencyMs: result.execution_time,
      verdict: result.verdict ? 'passed' : 'failed',
    });
  }
  if (bodies === undefined) return;
  bodies.hooks ??= { before: [], after: [] };
  bodies.hooks[side].push(...run.results);
}
