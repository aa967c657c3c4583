// What the hooks' results become in an answer: status 246 and 446, and the member `hook_results`.
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { Api, JsonObject } from '../view/traffic.ts';
import { FLAGGED_STATUS, type HookResults, type HookRun } from './hook-result.ts';

/** `hook_results` of an answer; undefined when no hook ran on either side. */
export function hookResults(
  input: HookRun | undefined,
  output: HookRun | undefined,
): HookResults | undefined {
  const before = input?.results ?? [];
  const after = output?.results ?? [];
  if (before.length === 0 && after.length === 0) return undefined;
  return { before_request_hooks: before, after_request_hooks: after };
}

/** The status of an answer that is not denied: 246 in place of 200 where a hook failed. */
export function statusAfter(status: number, ...runs: readonly (HookRun | undefined)[]): number {
  const flagged = runs.some((run) => run?.decision === 'flag');
  return flagged && status === 200 ? FLAGGED_STATUS : status;
}

const DENIED =
  'The guardrail checks defined in the config failed. You can find more information in the `hook_results` object.';

/** The error of a call that a hook with deny stopped: 446, type hooks_failed. The body also has `hook_results`. */
export function denied(): GatewayError {
  return fail('guardrail_denied', DENIED);
}

/** The reply to a call that was denied softly (`HookRun.soft`), in the shape of its API; undefined where none fits. */
export function softDenial(api: Api, model: string, id: string, createdAtMs: number): JsonObject | undefined {
  const created = Math.floor(createdAtMs / 1000);
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  switch (api) {
    case 'chat': {
      const message = { role: 'assistant', content: DENIED, refusal: null };
      const choices = [{ index: 0, message, logprobs: null, finish_reason: 'content_filter' }];
      return { id, object: 'chat.completion', created, model, choices, usage };
    }
    case 'completions': {
      const choices = [{ index: 0, text: DENIED, logprobs: null, finish_reason: 'content_filter' }];
      return { id, object: 'text_completion', created, model, choices, usage };
    }
    case 'messages': {
      const content = [{ type: 'text', text: DENIED }];
      const none = { input_tokens: 0, output_tokens: 0 };
      return {
        id,
        type: 'message',
        role: 'assistant',
        model,
        content,
        stop_reason: 'refusal',
        stop_sequence: null,
        usage: none,
      };
    }
    case 'gemini': {
      const content = { role: 'model', parts: [{ text: DENIED }] };
      const candidates = [{ content, finishReason: 'SAFETY', index: 0 }];
      return { candidates, usageMetadata: {}, modelVersion: model, responseId: id };
    }
    case 'converse': {
      const none = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
      const output = { message: { role: 'assistant', content: [{ text: DENIED }] } };
      return { output, stopReason: 'content_filtered', usage: none, metrics: { latencyMs: 0 } };
    }
    default:
      return undefined;
  }
}
