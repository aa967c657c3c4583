// The alerts of all organisations in memory: which crossings were claimed, and which alerts are still to be sent.
import type { Document } from '../../store/documents.ts';
import type { BudgetRule } from '../limits/rule.ts';
import { type AlertBody, type AlertLevel, alertId, type Crossing, covers } from './alert.ts';

export type AlertDocument = Document<AlertBody>;

/** Follows alerts by their documents; an older version changes nothing. */
export class AlertState {
  readonly #known = new Map<string, AlertDocument>();
  readonly #due = new Map<string, AlertDocument>();
  /** Alerts by organisation. */
  readonly #counts = new Map<string, number>();

  /** Takes an alert as it is now. */
  apply(document: AlertDocument): void {
    const name = `${document.organisationId} ${document.id}`;
    const known = this.#known.get(name);
    if (known !== undefined && known.version >= document.version) return;
    if (known === undefined)
      this.#counts.set(document.organisationId, this.count(document.organisationId) + 1);
    this.#known.set(name, document);
    if (document.status === 'active' && document.body.state === 'due') this.#due.set(name, document);
    else this.#due.delete(name);
  }

  /** Alerts of an organisation: one for each budget and level that was ever crossed. */
  count(organisationId: string): number {
    return this.#counts.get(organisationId) ?? 0;
  }

  find(organisationId: string, budget: string, level: AlertLevel): AlertDocument | undefined {
    return this.#known.get(`${organisationId} ${alertId(budget, level)}`);
  }

  /** Whether the crossing was claimed, as far as this process knows. */
  covers(crossing: Pick<Crossing, 'organisationId' | 'rule' | 'level' | 'key'>): boolean {
    const found = this.find(crossing.organisationId, crossing.rule.id, crossing.level);
    return found !== undefined && covers(found.body, crossing);
  }

  /** Whether the alert of a budget's present period was sent, for its present limit and threshold. */
  isSent(organisationId: string, rule: BudgetRule, key: string, level: AlertLevel): boolean {
    const found = this.find(organisationId, rule.id, level);
    return found !== undefined && found.body.state === 'sent' && covers(found.body, { level, key, rule });
  }

  /** Alerts that are due. @param now Unix milliseconds */
  due(now: number): readonly AlertDocument[] {
    return [...this.#due.values()].filter(({ body }) => body.nextTryAt <= now);
  }
}
