// How a call uses the cache: look for the same request, wait for a call that is making its answer, look for a request
// with the same meaning, and only then run.
import type { AnswerStore } from './answers.ts';
import { createByMeaning } from './by-meaning.ts';
import {
  type CachedCallInput,
  type CacheRequest,
  type CacheResult,
  readable,
  tell,
} from './cache-request.ts';
import { ALONE, createFillLease, type FillLease, type FillLeaseEnd } from './fill-lease.ts';
import { acquireFillLock } from './fill-lock.ts';
import { createFinder } from './finder.ts';
import { SUFFIXES, type Suffix } from './form.ts';
import { cacheKey } from './key.ts';
import type { AnswerRecord } from './record.ts';
import type { CacheReport, CacheStatus } from './report.ts';
import type { CacheSettings } from './settings.ts';
import { type Lead, SingleFlight } from './single-flight.ts';
import type { VectorStore } from './vectors.ts';

export interface CacheLookupOptions {
  readonly answers: AnswerStore;
  readonly vectors: VectorStore;
  readonly secret: Uint8Array | undefined;
  readonly waitMs: number;
  readonly embedMs: number;
}

export interface CacheLookup {
  /**
   * An answer or the duty to make one.
   * @param suffixes of the keys under which the answer may be, the own form first
   * @param read the caller's answer of a record; undefined, or a throw, when it cannot be one
   * @throws the signal's reason when the caller leaves
   */
  turn<Answer>(
    call: CachedCallInput,
    settings: CacheSettings,
    suffixes: readonly [Suffix, ...Suffix[]],
    read: (kept: AnswerRecord) => Answer | undefined,
  ): Promise<{ readonly answer: Answer } | FillLease>;
}

export function createCacheLookup({
  answers,
  vectors,
  secret,
  waitMs,
  embedMs,
}: CacheLookupOptions): CacheLookup {
  const flights = new SingleFlight<CacheResult>(waitMs);
  const finder = createFinder(answers, vectors, embedMs);
  const byMeaning = createByMeaning(finder, vectors, secret);

  function miss(
    visit: CacheRequest,
    end: FillLeaseEnd,
    status: CacheStatus,
    report: Partial<CacheReport> = {},
  ): FillLease {
    tell(visit, { status, ...report });
    return createFillLease(answers, visit, end);
  }

  /** The old answer is removed at once, in every form, so that it is not served while the new one is made. */
  function refresh(visit: CacheRequest): FillLease {
    for (const suffix of SUFFIXES) {
      flights.supersede(visit.key + suffix);
      void answers.remove(visit.org, visit.key + suffix);
    }
    const afterwards = byMeaning.replace(visit);
    return miss(visit, afterwards ? { ...ALONE, afterwards } : ALONE, 'REFRESH');
  }

  /** The first of its kind: waits for the turn over all instances and looks once more. */
  async function lead(visit: CacheRequest, own: Lead<CacheResult>): Promise<CacheResult | FillLease> {
    const bring = (result: CacheResult): CacheResult => {
      own.bring(result);
      return result;
    };
    const { call, settings, org, key } = visit;
    const turn = await acquireFillLock(answers.turns, org, key + visit.suffixes[0], call.signal, {
      waitMs: call.waitMs ?? waitMs,
      look: () => finder.find(visit, key),
    });
    if ('found' in turn) return bring({ ...turn.found, status: 'HIT' });
    const { release } = turn;
    const end = { lead: own, release };
    if (settings.mode === 'simple' || visit.report.status === 'DISABLED')
      return miss(visit, end, visit.report.status);
    try {
      const seen = await byMeaning.compare(visit);
      if (seen.hit === undefined) {
        const { status, report, afterwards } = seen;
        return miss(visit, afterwards ? { ...end, afterwards } : end, status, report);
      }
      release();
      return bring({ ...seen.hit, status: 'SEMANTIC HIT', similarity: seen.similarity });
    } catch (error) {
      release();
      throw error;
    }
  }

  async function obtain(visit: CacheRequest): Promise<CacheResult | FillLease> {
    const { call, key, suffixes, settings } = visit;
    if (settings.forceRefresh) return refresh(visit);
    try {
      const found = await finder.find(visit, key);
      if (found !== undefined) return { ...found, status: 'HIT' };
    } catch {
      // Those of this process still share one flight: a store that stumbles lets no storm through.
      visit.report = {
        ...visit.report,
        status: 'DISABLED',
        reason: 'the store of the cache does not answer',
      };
    }
    const began = performance.now();
    const turn = await flights.enter(key + suffixes[0], call.signal, call.waitMs);
    if (turn.role === 'follow' && visit.fits(turn.value.record)) {
      visit.report = { status: 'HIT', key, waitedMs: performance.now() - began };
      return turn.value;
    }
    if (turn.role !== 'lead') return miss(visit, ALONE, visit.report.status);
    try {
      return await lead(visit, turn.lead);
    } catch (error) {
      turn.lead.fail();
      throw error;
    }
  }

  return {
    async turn<Answer>(
      call: CachedCallInput,
      settings: CacheSettings,
      suffixes: readonly [Suffix, ...Suffix[]],
      read: (kept: AnswerRecord) => Answer | undefined,
    ) {
      const subject = await call.subject();
      const key = await cacheKey(subject, settings.namespace, secret);
      let answer: Answer | undefined;
      const fits = (kept: AnswerRecord): boolean => {
        answer = readable(() => read(kept));
        return answer !== undefined;
      };
      const org = subject.organisationId;
      const visit: CacheRequest = {
        call,
        settings,
        subject,
        org,
        key,
        suffixes,
        fits,
        report: { status: 'MISS', key },
      };
      const got = await obtain(visit);
      if ('keep' in got) {
        if (!call.signal.aborted) return got;
        // The caller left while its turn came: nothing is sent for it.
        got.fail();
        throw call.signal.reason;
      }
      const { status, ageMs, similarity, record } = got;
      if (answer === undefined && !fits(record)) return miss(visit, ALONE, 'MISS');
      tell(visit, { status, ageMs, note: record.note, ...(similarity === undefined ? {} : { similarity }) });
      return { answer: answer as Answer };
    },
  };
}
