// Opens budget alerts: their recipients, and their entries in the audit log.
import { randomUUID } from 'node:crypto';
import type { SystemChanges } from '../access/audit/system-changes.ts';
import type { Directory } from '../access/directory.ts';
import type { AlertBody } from '../ledger/alerts/alert.ts';
import { type AlertParts, type Alerts, openAlerts } from '../ledger/alerts/alerts.ts';
import type { FindAudience } from '../ledger/alerts/audience.ts';
import { BudgetScanner } from '../ledger/alerts/budget-scanner.ts';
import { eventOf } from '../ledger/alerts/message.ts';
import type { JsonObject } from '../store/collection.ts';
import type { DocumentStore } from '../store/documents.ts';
import { audienceFinder } from './alert-audience.ts';
import { budgetsOf } from './limited-budgets.ts';

/** What the composition knows. */
export interface AlertsDeps extends Omit<AlertParts, 'audienceOf' | 'commit'> {
  readonly directory: Directory;
  readonly systemChanges: SystemChanges;
  /** Makes findable which groups of policies were counted so far. */
  readonly flushGroups: () => Promise<void>;
}

/** Opens them. @throws GatewayError store_unavailable. */
export async function openBudgetAlerts({
  directory,
  systemChanges,
  flushGroups,
  ...parts
}: AlertsDeps): Promise<{ readonly alerts: Alerts; close(): Promise<void> }> {
  const audienceOf = audienceFinder({ documents: parts.documents, directory, flushGroups });
  const { alerts, close } = await openAlerts({
    ...parts,
    audienceOf,
    commit: claimsWith(parts.documents, systemChanges, audienceOf),
  });
  const scanner = new BudgetScanner({
    state: parts.state,
    watch: alerts,
    now: parts.now,
    onTrouble: parts.onTrouble,
    owner: randomUUID(),
    organisations: () => directory.organisationIds(),
    budgetsOf: (organisationId) => budgetsOf(parts.documents, organisationId),
  });
  return {
    alerts,
    async close() {
      await scanner.stop();
      await close();
    },
  };
}

/** A policy's crossing is recorded in the audit log: the claim and its entry are one commit. */
function claimsWith(
  documents: DocumentStore,
  systemChanges: SystemChanges,
  audienceOf: FindAudience,
): AlertParts['commit'] {
  return async (organisationId, alert, operation) => {
    const scope = { organisationId, workspaceId: undefined };
    if (!alert.budget.startsWith('p:')) return documents.commit(scope, [operation]);
    const audience = await audienceOf(organisationId, alert);
    const { owner } = audience;
    const action = {
      verb: 'alert',
      resource: 'usage-limit-policy',
      detail: `${WORDS[alert.level]}${owner.valueKey === undefined ? '' : `: ${owner.valueKey}`}`.slice(
        0,
        500,
      ),
    };
    return systemChanges.commit(action, scope, [operation], {
      id: owner.id,
      name: owner.name,
      workspaceId: owner.workspaceId,
      after: eventOf(organisationId, alert, audience).data as unknown as JsonObject,
    });
  };
}

const WORDS: Readonly<Record<AlertBody['level'], string>> = {
  threshold: 'the alert threshold is reached',
  exhausted: 'the usage limit is exhausted',
};
