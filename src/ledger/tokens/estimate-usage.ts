// The usage of attempts whose provider did not report it.
import type { Unreported } from '../../call/call-record.ts';
import type { UsageRecord } from '../../call/record.ts';
import { estimateOf } from '../limits/estimate.ts';
import type { TokenCounter } from './counter.ts';
import { textsIn } from './texts.ts';

/** The request and the answer of an attempt; `answered` is undefined when it broke off before any answer. */
export type Exchange = Pick<Unreported, 'request' | 'answered' | 'counted'>;

const known = new WeakMap<Exchange, Promise<UsageRecord>>();

/** The usage of an exchange, counted once: all callers get the same result. */
export function estimateUsage(counter: TokenCounter, exchange: Exchange): Promise<UsageRecord> {
  let usage = known.get(exchange);
  if (usage === undefined) {
    usage = countUsage(counter, exchange);
    known.set(exchange, usage);
  }
  return usage;
}

/**
 * Counts the request and the answer. When an attempt was given up before any answer, the tokens that its provider
 * made are unknown: it counts the most that it was asked for, or what is assumed without a maximum.
 */
async function countUsage(
  counter: TokenCounter,
  { request, answered: answer, counted }: Exchange,
): Promise<UsageRecord> {
  if (counted !== undefined) {
    const [completionTokens = 0] = await counter.count([answer ?? '']);
    return { ...counted, completionTokens, totalTokens: counted.promptTokens + completionTokens };
  }
  const [asked = 0, answered = 0] = await counter.count([textsIn(request), answer ?? '']);
  const makes =
    answer !== undefined ? answered : 'maxTokens' in request ? estimateOf(0, request, true).output : 0;
  return { promptTokens: asked, completionTokens: makes, totalTokens: asked + makes };
}
