// default.validUrls: every URL in the text answers, or its host's name resolves. The URLs were written by a model or a
// user: they are called by the egress dialer only, and what its rules refuse is not valid.
import type { AbortLike } from '../lib/abort.ts';
import { type CheckDeps, CheckFailure } from './contract/check.ts';
import { defineCheck } from './contract/define.ts';
import { flag } from './contract/fields.ts';
import { excerptOf } from './contract/judge.ts';
import { deadline } from './outward/deadline.ts';
import { examinedTexts } from './view/examined.ts';

const MOST_URLS = 50;
const AT_ONCE = 8;
const EACH_MS = 3000;

export const validUrls = defineCheck({
  id: 'default.validUrls',
  events: ['input', 'output'],
  timeoutMs: 30_000,
  fields: { onlyDNS: flag(), not: flag() },
  async run(context, { onlyDNS, not }, deps) {
    const texts = await examinedTexts(context, true, deps.sandbox);
    const found = await deps.sandbox.examine(context.traffic, 'urls', texts);
    const urls = [...new Set(found.flat())];
    if (urls.length > MOST_URLS)
      throw new CheckFailure('InputTooLongError', `the text has more than ${MOST_URLS} URLs`);
    const valid = await overAll(urls, (url) => isValid(url, onlyDNS, deps));
    const allValid = urls.length > 0 && valid.every(Boolean);
    const verdict = allValid !== not;
    return {
      verdict,
      data: {
        validUrls: urls.filter((_, index) => valid[index]),
        invalidUrls: urls.filter((_, index) => !valid[index]),
        validationMethod: onlyDNS ? 'dns' : 'http',
        not,
        verdict,
        explanation:
          urls.length === 0
            ? 'No URLs found in the text.'
            : allValid
              ? 'All URLs are valid.'
              : 'Some URLs are not valid.',
        textExcerpt: excerptOf(texts.find((text) => text !== '') ?? ''),
      },
    };
  },
});

async function overAll<T>(items: readonly string[], work: (item: string) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const run = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index]!);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, run));
  return results;
}

async function isValid(url: string, onlyDNS: boolean, deps: CheckDeps): Promise<boolean> {
  const expired = () => new CheckFailure('TimeoutError', `no answer within ${EACH_MS} ms`);
  const { signal, release } = deadline(deps.signal, EACH_MS, expired);
  try {
    // A fragment is not sent; the rules refuse it because it has no place in a config.
    const [called = ''] = url.split('#', 1);
    deps.dialer.check(called, 'url');
    const { hostname } = new URL(called);
    return onlyDNS ? await deps.resolver.exists(hostname, signal) : await answers(called, deps, signal);
  } catch {
    if (deps.signal.aborted) throw deps.signal.reason;
    return false;
  } finally {
    release();
  }
}

/** Whether a URL answers. Redirects are answers and are not followed; 405 and 501 say that only HEAD is unwanted. */
async function answers(url: string, { dialer }: CheckDeps, signal: AbortLike): Promise<boolean> {
  const { origin, pathname, search } = new URL(url);
  const request = { origin, path: pathname + search, method: 'HEAD', headers: [], body: undefined, signal };
  const { status } = await dialer.whole(request, 65_536);
  return status < 400 || status === 405 || status === 501;
}
