// The usage of attempts whose provider did not report it.
import type { Unreported } from '../../call/call-record.ts';
import type { UsageRecord } from '../../call/record.ts';
import { estimateOf } from '../limits/estimate.ts';
import type { TokenCounter } from './counter.ts';
import { textsIn } from './texts.ts';

/** What an attempt was asked and what it answered. */
export type Exchange = Pick<Unreported, 'request' | 'answered'>;

const known = new WeakMap<Exchange, Promise<UsageRecord>>();

/** The usage of an exchange, counted once: whoever asks is told the same. */
export function estimateUsage(counter: TokenCounter, exchange: Exchange): Promise<UsageRecord> {
  let usage = known.get(exchange);
  if (usage === undefined) {
    usage = countUsage(counter, exchange);
    known.set(exchange, usage);
  }
  return usage;
}

/**
 * Counts what was asked and said. Of an attempt that was given up before it said anything nobody knows how much
 * its provider made: the most that it was asked for, or what is assumed without a maximum.
 */
async function countUsage(
  counter: TokenCounter,
  { request, answered: said }: Exchange,
): Promise<UsageRecord> {
  const [asked = 0, answered = 0] = await counter.count([textsIn(request), said ?? '']);
  const makes =
    said !== undefined ? answered : 'maxTokens' in request ? estimateOf(0, request, true).output : 0;
  return { promptTokens: asked, completionTokens: makes, totalTokens: asked + makes };
}
