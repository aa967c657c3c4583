// The right and duty to run a call, and what happens to what it brings.
import type { AnswerStore } from './answers.ts';
import { type CacheRequest, type CacheResult, readable } from './cache-request.ts';
import { type AnswerRecord, decodeRecord, encodeRecord } from './record.ts';
import type { Lead } from './single-flight.ts';

/** The first word counts; none of them throws. */
export interface FillLease {
  /** It came: keep it and give it to those who wait. */
  keep(form: AnswerRecord['form'], pieces: readonly (string | Uint8Array)[]): void;
  /** It did not come. */
  fail(): void;
  /** It came and is not to be kept. */
  scatter(): void;
}

/** Who else is concerned by how a duty ends. */
export interface FillLeaseEnd {
  /** Those of this process who wait. */
  readonly lead: Lead<CacheResult> | undefined;
  /** Gives the turn over all instances back; never throws. */
  readonly release: () => void;
  /** Work that follows once the answer is kept, after the call. */
  readonly afterwards?: (ttlMs: number) => Promise<void>;
}

const nothing = (): void => undefined;

/** No lease was taken, and no call waits. */
export const ALONE: FillLeaseEnd = { lead: undefined, release: nothing };

export function createFillLease(answers: AnswerStore, visit: CacheRequest, end: FillLeaseEnd): FillLease {
  let over = false;
  const once = (then: () => void): void => {
    if (over) return;
    over = true;
    then();
  };
  return {
    keep: (form, pieces) => once(() => keep(answers, visit, end, form, pieces)),
    fail: () =>
      once(() => {
        end.lead?.fail();
        end.release();
      }),
    scatter: () =>
      once(() => {
        end.lead?.scatter();
        end.release();
      }),
  };
}

function keep(
  answers: AnswerStore,
  { call, settings, org, key, suffixes }: CacheRequest,
  { lead, release, afterwards }: FillLeaseEnd,
  form: AnswerRecord['form'],
  pieces: readonly (string | Uint8Array)[],
): void {
  const bytes = encodeRecord(form, readable(() => call.answerNote?.()) ?? {}, pieces);
  lead?.bring({ key, record: decodeRecord(bytes)!, ageMs: 0, status: 'HIT' });
  // A refresh that came meanwhile has the newer one.
  if (lead?.superseded) {
    release();
    return;
  }
  const ttlMs = settings.maxAgeSeconds * 1000;
  const written = answers.write(org, key + suffixes[0], bytes, ttlMs);
  // Those of other instances look when the turn is free, so the answer must be there before.
  Promise.resolve(written).then(release, release);
  void afterwards?.(ttlMs).catch(nothing);
}
