// Re-rating that was requested over the API: it runs after the answer, one run at a time per organisation, and
// records its progress.
import { randomUUID } from 'node:crypto';
import { fail, toGatewayError } from '../../lib/errors.ts';
import {
  type Document,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { LEASE_KEY, LEASE_MS, type ReRateDeps, type ReRateResult, reRate } from './re-rate.ts';
import { type ReRateProgressBody, type ReRateSpan, RUN_ID, reRateProgress } from './run.ts';

export type ReRateProgress = Document<ReRateProgressBody>;

export interface ReRateJobs {
  /**
   * Begins a run. Resolves when its start is stored, which `commit` does together with its audit entry.
   * @throws GatewayError conflict while another run of the organisation is under way, store_unavailable
   */
  start(organisationId: string, span: ReRateSpan, dryRun: boolean, commit: Commit): Promise<ReRateProgress>;
  /** The newest run; undefined: there was none. */
  read(organisationId: string): Promise<ReRateProgress | undefined>;
  /** Stops the running ones; the next request for the same run resumes it. */
  close(): Promise<void>;
}

/** Writes the operation. @param body what callers are shown of the run, for its audit entry */
export type Commit = (
  operation: WriteOperation,
  body: ReRateProgressBody,
) => Promise<readonly Document<object>[]>;

export interface ReRateJobsDeps {
  /** What a run takes, but for its owner. */
  readonly deps: () => Omit<ReRateDeps, 'owner'>;
  /** Makes durable what was recorded so far. */
  readonly flush: () => Promise<void>;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** Between two writes of a run's progress, in milliseconds. */
const TELL_EVERY_MS = 1000;

/** Whether a run whose state is `running` has reported nothing for so long that it counts as gone. */
export function isLost({ body, updatedAt }: ReRateProgress, now: number): boolean {
  return body.state === 'running' && now - updatedAt > LEASE_MS;
}

export function createReRateJobs(deps: ReRateJobsDeps): ReRateJobs {
  return new Jobs(deps);
}

class Jobs implements ReRateJobs {
  readonly #deps: ReRateJobsDeps;
  readonly #running = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(deps: ReRateJobsDeps) {
    this.#deps = deps;
  }

  read(organisationId: string): Promise<ReRateProgress | undefined> {
    return newestRun(this.#deps.deps(), organisationId);
  }

  async start(
    organisationId: string,
    span: ReRateSpan,
    dryRun: boolean,
    commit: Commit,
  ): Promise<ReRateProgress> {
    const deps: ReRateDeps = { ...this.#deps.deps(), owner: randomUUID() };
    const { state, owner, now } = deps;
    const lease = { key: LEASE_KEY, owner, leaseMs: LEASE_MS };
    const { acquired } = await state.acquireLease(organisationId, lease);
    if (!acquired) throw fail('conflict', 'the organisation is being re-rated already');
    try {
      const none = { entries: 0, budgets: 0, changed: 0, before: '0', after: '0' };
      const body: ReRateProgressBody = { ...span, ...none, dryRun, state: 'running', startedAt: now() };
      const begun = await begin(deps, organisationId, body, commit);
      const work: Promise<void> = this.#run(deps, begun)
        .catch((error: unknown) =>
          this.#deps.onTrouble(error, 'how far a re-rating has come could not be written'),
        )
        .finally(() => this.#running.delete(work));
      this.#running.add(work);
      return begun;
    } catch (error) {
      await state.releaseLease(organisationId, { key: lease.key, owner }).catch(() => {});
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#stop.abort(fail('conflict', 'the gateway is stopping'));
    await Promise.all(this.#running);
  }

  async #run(deps: ReRateDeps, begun: ReRateProgress): Promise<void> {
    const { documents, state, owner, now } = deps;
    const { organisationId } = begun;
    const { dryRun, from, until, model } = begun.body;
    const lease = { key: LEASE_KEY, owner, leaseMs: LEASE_MS };
    let written = begun;
    let told = now();
    const tell = async (more: Partial<ReRateProgressBody>, result?: ReRateResult): Promise<void> => {
      const body = { ...written.body, ...(result && shown(result)), ...more };
      const scope = { organisationId, workspaceId: undefined };
      const change = { body, updatedAt: now() };
      written = await documents.update(scope, reRateProgress, RUN_ID, written.version, change);
    };
    try {
      await this.#deps.flush();
      const span = { from, until, ...(model === undefined ? {} : { model }) };
      const result = await reRate(deps, organisationId, span, dryRun, this.#stop.signal, async (soFar) => {
        if (now() - told < TELL_EVERY_MS) return;
        told = now();
        if (!(await state.renewLease(organisationId, lease)))
          throw fail('conflict', 'another run has taken the organisation over');
        await tell({}, soFar);
      });
      await tell({ state: 'done', endedAt: now() }, result);
    } catch (thrown) {
      const error = this.#stop.signal.aborted
        ? fail('conflict', 'the gateway was stopped: ask for the same run again, and it goes on')
        : toGatewayError(thrown);
      if (error.reason === 'internal') this.#deps.onTrouble(thrown, 'a re-rating failed');
      await tell({ state: 'failed', endedAt: now(), error: error.message });
    } finally {
      await state.releaseLease(organisationId, { key: lease.key, owner }).catch(() => {});
    }
  }
}

function newestRun(
  { documents }: Pick<ReRateDeps, 'documents'>,
  organisationId: string,
): Promise<ReRateProgress | undefined> {
  return documents.get({ organisationId, workspaceId: undefined }, reRateProgress, RUN_ID);
}

/** Stores the start of a run. */
async function begin(
  deps: ReRateDeps,
  organisationId: string,
  body: ReRateProgressBody,
  commit: Commit,
): Promise<ReRateProgress> {
  const { now } = deps;
  const known = await newestRun(deps, organisationId);
  const operation =
    known === undefined
      ? insertOperation(reRateProgress, { id: RUN_ID, createdAt: now(), body })
      : updateOperation(reRateProgress, RUN_ID, known.version, { body, updatedAt: now() });
  const [written] = await commit(operation, body);
  return written as ReRateProgress;
}

function shown({ entries, changed, before, after, budgets }: ReRateResult) {
  return { entries, changed, budgets, before: before.toString(), after: after.toString() };
}
