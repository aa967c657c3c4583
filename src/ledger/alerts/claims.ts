// Crossings become alerts: each is claimed once over all instances, by the version of its document.
import { toGatewayError } from '../../lib/errors.ts';
import {
  type Document,
  type DocumentStore,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import type { SharedState } from '../../store/shared-state.ts';
import { budgetKey } from '../limits/usage.ts';
import { type AlertBody, alertId, budgetAlerts, type Crossing, covers } from './alert.ts';
import type { AlertDocument } from './alert-state.ts';

/** What crossings are claimed with. */
export interface ClaimDeps {
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly state: Pick<SharedState, 'readBudget'>;
  /** Writes a claim; that of a policy together with its audit entry. Resolves with the documents as written. */
  readonly commit: (
    organisationId: string,
    alert: AlertBody,
    operation: WriteOperation,
  ) => Promise<readonly Document<object>[]>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A crossing, or a budget that may have been crossed. */
export type Noticed = Omit<Crossing, 'spent'> & { readonly spent: bigint | undefined };

/** How often a claim is retried after a lost race. */
const TURNS = 3;

/**
 * Claims a crossing. Undefined: there is none, its period is over, or it was claimed before.
 * @throws GatewayError store_unavailable: it is worth another try.
 */
export async function claimCrossing(deps: ClaimDeps, noticed: Noticed): Promise<AlertDocument | undefined> {
  const { organisationId, rule, level, key } = noticed;
  if (budgetKey(rule, deps.now()) !== key) return undefined;
  const spent = noticed.spent ?? (await deps.state.readBudget(organisationId, { key })).spent;
  const reached = level === 'exhausted' ? rule.cap : rule.threshold;
  if (reached === undefined || spent < reached) return undefined;
  const id = alertId(rule.id, level);
  const scope = { organisationId, workspaceId: undefined };
  for (let turn = 1; ; turn++) {
    const known = await deps.documents.get(scope, budgetAlerts, id);
    if (known !== undefined && covers(known.body, noticed)) return undefined;
    const at = deps.now();
    const body = bodyOf({ ...noticed, spent }, (known?.version ?? 0) + 1, at);
    const operation =
      known === undefined
        ? insertOperation(budgetAlerts, { id, createdAt: at, body })
        : updateOperation(budgetAlerts, id, known.version, { body, updatedAt: at });
    try {
      const [written] = await deps.commit(organisationId, body, operation);
      return written as AlertDocument | undefined;
    } catch (thrown) {
      const { reason } = toGatewayError(thrown);
      if (turn >= TURNS || (reason !== 'conflict' && reason !== 'version_conflict')) throw thrown;
    }
  }
}

function bodyOf({ rule, level, key, spent }: Crossing, claim: number, at: number): AlertBody {
  return {
    budget: rule.id,
    level,
    key,
    type: rule.type,
    name: rule.name,
    cap: rule.cap.toString(),
    ...(rule.threshold === undefined ? {} : { threshold: rule.threshold.toString() }),
    spent: spent.toString(),
    noticedAt: at,
    claim,
    state: 'due',
    done: [],
    tries: 0,
    nextTryAt: at,
  };
}
