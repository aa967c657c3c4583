// The alerts of all organisations in memory: which crossings were claimed, and which alerts are still to be sent.
import type { Document } from '../../store/documents.ts';
import { Replica } from '../../store/replica.ts';
import type { BudgetRule } from '../limits/rule.ts';
import { type AlertBody, type AlertLevel, alertId, budgetAlerts, type Crossing, covers } from './alert.ts';

export type AlertDocument = Document<AlertBody>;

/** The alerts of all organisations. */
export class AlertState {
  readonly #due = new Map<string, AlertDocument>();
  readonly replica: Replica<AlertBody> = new Replica(budgetAlerts, {
    row: (document) => document,
    changed: (now, _before, { organisationId, id }) => {
      if (now?.body.state === 'due') this.#due.set(`${organisationId} ${id}`, now);
      else this.#due.delete(`${organisationId} ${id}`);
    },
  });

  /** Alerts of an organisation: one for each budget and level that was ever crossed. */
  count(organisationId: string): number {
    return this.replica.of(organisationId).size;
  }

  find(organisationId: string, budget: string, level: AlertLevel): AlertDocument | undefined {
    return this.replica.get(organisationId, alertId(budget, level));
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
