// Budget alerts: a crossing is noticed when a call is settled or refused, then claimed and sent after the answer.
import { randomUUID } from 'node:crypto';
import { Aborter } from '../../lib/abort.ts';
import { fail, toGatewayError } from '../../lib/errors.ts';
import type { DocumentStore } from '../../store/documents.ts';
import { follow, type ReplicaSource } from '../../store/follow.ts';
import type { SharedState } from '../../store/shared-state.ts';
import { Background } from '../limits/background.ts';
import type { BudgetRule } from '../limits/rule.ts';
import { type AlertLevel, alertId, budgetAlerts } from './alert.ts';
import { type AlertDocument, AlertState } from './alert-state.ts';
import { type ClaimDeps, claimCrossing, type Noticed } from './claims.ts';
import { type DeliveryDeps, deliver } from './delivery.ts';
import type { BudgetWatch, SentAlerts } from './watch.ts';

/** What alerts need. */
export interface AlertParts
  extends Omit<DeliveryDeps, 'documents' | 'state' | 'owner' | 'signal' | 'written'>,
    Pick<ClaimDeps, 'commit'> {
  readonly documents: DocumentStore;
  readonly state: SharedState;
  readonly source: ReplicaSource;
  /** Between two looks at what is due, in milliseconds; 5000 by default. */
  readonly everyMs?: number;
}

/** Of one organisation, per process: callers that may write metadata can create any number of a policy's groups. */
const MOST_ALERTS = 20_000;
/** Crossings that wait for the store. */
const MOST_WAITING = 10_000;
/** Alerts sent at once, in total and per organisation: a slow webhook of one organisation delays no other's alerts. */
const AT_ONCE = 8;
const OF_ONE = 2;
const EVERY_MS = 5000;
/** A refused call of a budget that is not used up leads to a reading; another one not before so long. */
const REST_MS = 1000;
const MOST_RESTING = 10_000;
/** How long alerts in transit may take when the gateway stops. */
const CLOSE_MS = 2000;

/** Alerts of all organisations, as one instance handles them. */
export class Alerts implements BudgetWatch, SentAlerts {
  readonly board: AlertState;
  readonly #parts: AlertParts;
  readonly #delivery: DeliveryDeps;
  readonly #stopping = new Aborter();
  readonly #background = new Background();
  /** By organisation, budget and level. */
  readonly #waiting = new Map<string, Noticed>();
  readonly #sending = new Set<string>();
  /** Budgets that were read after a refusal, and until when they are not read again. */
  readonly #resting = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #claiming: Promise<void> | undefined;

  constructor(parts: AlertParts, board: AlertState) {
    this.#parts = parts;
    this.board = board;
    this.#delivery = {
      ...parts,
      owner: randomUUID(),
      signal: this.#stopping,
      written: (document) => board.replica.apply(document),
    };
    this.#timer = setInterval(() => this.#turn(), parts.everyMs ?? EVERY_MS).unref();
  }

  charged(organisationId: string, rule: BudgetRule, key: string, spent: bigint): void {
    if (spent >= rule.cap) this.#notice(organisationId, rule, key, 'exhausted', spent);
    if (rule.threshold !== undefined && spent >= rule.threshold)
      this.#notice(organisationId, rule, key, 'threshold', spent);
  }

  refused(organisationId: string, rule: BudgetRule, key: string): void {
    const name = `${organisationId} ${key}`;
    const now = performance.now();
    if ((this.#resting.get(name) ?? 0) > now) return;
    if (this.#resting.size >= MOST_RESTING) this.#resting.clear();
    this.#resting.set(name, now + REST_MS);
    this.#notice(organisationId, rule, key, 'exhausted', undefined);
    if (rule.threshold !== undefined) this.#notice(organisationId, rule, key, 'threshold', undefined);
  }

  isSent(organisationId: string, rule: BudgetRule, key: string, level: AlertLevel): boolean {
    return this.board.isSent(organisationId, rule, key, level);
  }

  /** Usage of a budget was reset by hand within its period: later crossings lead to new alerts. */
  async cleared(organisationId: string, budget: string): Promise<void> {
    for (const level of ['threshold', 'exhausted'] as const) await this.#clear(organisationId, budget, level);
  }

  /** Resolves when what was noticed so far is claimed, or could not be: for a stop. */
  async claimed(): Promise<void> {
    await this.#claiming;
  }

  /** Resolves when what was noticed so far is claimed, and sent or to be tried again. */
  async idle(): Promise<void> {
    await this.#claiming;
    await this.#background.idle();
  }

  /** Lets alerts in transit end, for two seconds. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#background.soFar(CLOSE_MS);
    this.#stopping.abort(fail('overloaded', 'the gateway is stopping'));
    await this.#background.soFar(CLOSE_MS);
  }

  #notice(
    organisationId: string,
    rule: BudgetRule,
    key: string,
    level: AlertLevel,
    spent: bigint | undefined,
  ): void {
    const noticed = { organisationId, rule, level, key, spent };
    if (this.board.covers(noticed)) return;
    const name = `${organisationId} ${rule.id} ${level}`;
    if (this.#waiting.size >= MOST_WAITING && !this.#waiting.has(name)) return;
    if (this.board.count(organisationId) >= MOST_ALERTS && !this.board.find(organisationId, rule.id, level))
      return;
    this.#waiting.set(name, noticed);
    this.#claim();
  }

  #turn(): void {
    if (this.#waiting.size > 0) this.#claim();
    for (const document of this.board.due(this.#parts.now())) this.#send(document);
  }

  #claim(): void {
    this.#claiming ??= this.#claimAll().finally(() => {
      this.#claiming = undefined;
    });
  }

  async #claimAll(): Promise<void> {
    for (const [name, noticed] of this.#waiting) {
      try {
        const claimed = await claimCrossing(this.#parts, noticed);
        if (claimed !== undefined) {
          this.board.replica.apply(claimed);
          this.#send(claimed);
        }
      } catch (error) {
        this.#parts.onTrouble(error, 'an alert about a budget could not be written yet');
        if (toGatewayError(error).reason === 'store_unavailable') return;
      }
      if (this.#waiting.get(name) === noticed) this.#waiting.delete(name);
    }
  }

  #send(document: AlertDocument): void {
    const name = `${document.organisationId} ${document.id}`;
    if (this.#sending.has(name) || this.#sending.size >= AT_ONCE || this.#stopping.aborted) return;
    const own = [...this.#sending].filter((other) => other.startsWith(`${document.organisationId} `));
    if (own.length >= OF_ONE) return;
    this.#sending.add(name);
    const work = deliver(this.#delivery, document)
      .catch((error: unknown) => {
        this.#parts.onTrouble(error, 'an alert could not be sent yet');
        return false;
      })
      .then((done) => {
        this.#sending.delete(name);
        // An alert that another instance sends, or that the store did not take, waits for the next scan.
        if (done) this.#sendDue(document.organisationId);
      });
    this.#background.add(work);
  }

  /** What waited for its turn. */
  #sendDue(organisationId: string): void {
    const next = this.board
      .due(this.#parts.now())
      .find(
        (one) => one.organisationId === organisationId && !this.#sending.has(`${organisationId} ${one.id}`),
      );
    if (next !== undefined) this.#send(next);
  }

  async #clear(organisationId: string, budget: string, level: AlertLevel): Promise<void> {
    const { documents, now } = this.#parts;
    const scope = { organisationId, workspaceId: undefined };
    for (let turn = 0; turn < 3; turn++) {
      const known = await documents.get(scope, budgetAlerts, alertId(budget, level));
      if (known === undefined || known.body.state === 'cleared') return;
      const change = { body: { ...known.body, state: 'cleared' as const }, updatedAt: now() };
      try {
        this.board.replica.apply(
          await documents.update(scope, budgetAlerts, known.id, known.version, change),
        );
        return;
      } catch (thrown) {
        if (toGatewayError(thrown).reason !== 'version_conflict') throw thrown;
      }
    }
  }
}

/** Reads claimed alerts and follows them. @throws GatewayError store_unavailable. */
export async function openAlerts(
  parts: AlertParts,
): Promise<{ readonly alerts: Alerts; close(): Promise<void> }> {
  const board = new AlertState();
  const stop = await follow(parts.source, [board.replica]);
  const alerts = new Alerts(parts, board);
  return {
    alerts,
    async close() {
      await alerts.close();
      stop();
    },
  };
}
