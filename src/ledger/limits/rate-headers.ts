// What remains of rates, under the names that OpenAI's clients read; of calls in flight as `concurrent`.
import type { RateState } from '../../lib/errors.ts';

/** Writes rates into an answer's headers; of several of one type the one with the least left is shown. */
export function tellRates(headers: Map<string, string>, rates: readonly RateState[]): void {
  for (const { type, limit, remaining } of rates) {
    const told = headers.get(`x-ratelimit-remaining-${type}`);
    if (told !== undefined && Number(told) <= remaining) continue;
    headers.set(`x-ratelimit-limit-${type}`, String(limit));
    headers.set(`x-ratelimit-remaining-${type}`, String(remaining));
  }
}
