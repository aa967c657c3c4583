// Asynchronous guardrails of a call, noted for its entry: in it while it is open, in a record of their own after that.
import type { Call } from '../../call/call.ts';
import type { SpanRecord } from '../../call/record.ts';
import type { LaterHooks } from '../../checks/runner/guardrail-runner.ts';
import type { LateHook } from '../../ledger/late-hooks.ts';

/** Keeps the verdict of a guardrail whose entry is already written. Must not throw. */
export type KeepsLate = (late: LateHook) => void;

/** Each has a span from its start, `pending` until it is known what it came to. */
export function laterHooks(
  call: Call,
  side: 'before' | 'after',
  keepsLate: KeepsLate | undefined,
): LaterHooks {
  return {
    started({ id }) {
      const { record, account } = call;
      // The entry is written: a span would be lost.
      if (account.taken) return () => {};
      const span: { -readonly [K in keyof SpanRecord]: SpanRecord[K] } = {
        kind: 'guardrail',
        name: id,
        startedAt: Date.now(),
        latencyMs: 0,
        verdict: 'pending',
      };
      record.spans ??= [];
      const place = record.spans.push(span) - 1;
      return (result) => {
        const verdict = result === undefined ? 'unknown' : result.verdict ? 'passed' : 'failed';
        const came = { latencyMs: result?.execution_time ?? Date.now() - span.startedAt, verdict };
        if (!account.taken) {
          Object.assign(span, came);
          if (result !== undefined && call.bodies) {
            call.bodies.hooks ??= { before: [], after: [] };
            call.bodies.hooks[side].push(result);
          }
          return;
        }
        const { principal, bodies } = call;
        keepsLate?.({
          entry: {
            id: call.id,
            createdAt: call.arrivedAt,
            organisationId: principal?.organisationId ?? '',
            workspaceId: principal?.workspaceId ?? '',
          },
          place,
          side,
          ...came,
          // What was found may repeat what was bodies.
          ...(bodies === undefined ? {} : { result, secrets: bodies.secrets() }),
        });
      };
    },
  };
}
