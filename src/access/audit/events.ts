// Calls that changed nothing through Changes: refused, failed, or done without a document. Each has an entry
// of its own.

import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import type { GatewayError } from '../../lib/errors.ts';
import { looksLikeToken } from '../jwt/read-token.ts';
import type { AnonymousAudit } from './anonymous-audit.ts';
import { auditedCall, type CallReaders } from './audited-call.ts';
import type { Chain } from './chain.ts';
import type { AuditOutcome, AuditRecord } from './entry.ts';
import { presentedToken } from './presented-token.ts';
import { maskText, maskToken } from './secrets.ts';

/** What a call was about, as far as its message tells. */
export interface EventTarget {
  readonly id: string;
  readonly name: string;
}

/** Tells the audit log what became of calls. */
export interface AuditEvents {
  /** A call that was done, and whose service wrote no entry. @throws GatewayError when it cannot be written. */
  done(call: Call, target: EventTarget): Promise<void>;
  /** A call of a known caller that was refused or failed. Resolves within a bound, written or not. */
  failed(call: Call, target: EventTarget, error: GatewayError): Promise<void>;
  /** Records an unauthenticated call. Never waits. */
  unauthenticated(call: Call, error: GatewayError): void;
  /** The same on the data plane, where only tokens (JWT) are told of. */
  unauthenticatedData(call: Call, error: GatewayError): void;
}

/**
 * The owner of a refused key or token: an expired key's caller, or the organisation that a token names and that
 * takes tokens. Undefined when the owner is unknown.
 */
export type OwnerOf = (
  token: string,
) => { readonly organisationId: string; readonly principal?: Principal | undefined } | undefined;

export interface EventsDeps extends CallReaders {
  readonly chain: Chain;
  readonly anonymous: AnonymousAudit;
  /** The organisation whose chain records unauthenticated callers. */
  readonly homeOrganisationId: string;
  readonly ownerOf: OwnerOf;
  readonly onLost: (error: unknown, count: number) => void;
}

/** How long the answer to a failed call is held back for its entry. */
const WAIT_MS = 2000;
/** Of violated rules in one entry. */
const MAX_RULES = 10;
const NOTHING: EventTarget = { id: '', name: '' };

export function createEvents(deps: EventsDeps): AuditEvents {
  const { chain, anonymous, onLost } = deps;

  function unauthenticated(call: Call, error: GatewayError): void {
    const token = call.presentedKey ?? presentedToken(call.headers);
    const owner = token === undefined ? undefined : deps.ownerOf(token);
    const told: AuditRecord = {
      ...auditedEvent(call, deps, owner?.principal, NOTHING, outcomeOf(error), error),
      ...(token === undefined ? {} : { token: maskToken(token) }),
    };
    anonymous.tell(owner?.organisationId ?? deps.homeOrganisationId, told);
  }

  return {
    async done(call, target) {
      const { principal } = call;
      const told = auditedEvent(call, deps, principal, target, 'allowed', undefined);
      await chain.append(principal?.organisationId ?? deps.homeOrganisationId, told);
    },
    async failed(call, target, error) {
      const { principal } = call;
      if (principal === undefined) return unauthenticated(call, error);
      const told = auditedEvent(call, deps, principal, target, outcomeOf(error), error);
      const written = chain.append(principal.organisationId, told).catch((lost) => onLost(lost, 1));
      await within(WAIT_MS, written);
    },
    unauthenticated,
    unauthenticatedData(call, error) {
      const token = call.presentedKey ?? presentedToken(call.headers);
      if (token !== undefined && looksLikeToken(token)) unauthenticated(call, error);
    },
  };
}

function auditedEvent(
  call: Call,
  readers: CallReaders,
  principal: Principal | undefined,
  target: EventTarget,
  outcome: AuditOutcome,
  error: GatewayError | undefined,
): AuditRecord {
  return {
    ...auditedCall(call, readers, principal),
    target: { id: maskText(target.id), name: maskText(target.name) },
    workspaceId: principal?.workspaceId ?? '',
    outcome,
    reason: error?.reason ?? '',
    detail: error === undefined ? '' : detailOf(error),
    statusCode: error?.status ?? 200,
    changes: [],
    changesTruncated: false,
  };
}

function outcomeOf({ reason }: GatewayError): AuditOutcome {
  return reason === 'unauthenticated' || reason === 'forbidden' ? 'refused' : 'failed';
}

/**
 * What the gateway says of a refusal, and which rules were broken. Other messages may repeat what the caller
 * sent, and so do fields that are no field's name.
 */
function detailOf(error: GatewayError): string {
  const { message, details } = error;
  if (outcomeOf(error) === 'refused') return maskText(message);
  const rules = (details.violations ?? [])
    .slice(0, MAX_RULES)
    .map(({ field, rule }) => `${/^[a-z][a-z0-9_.[\]]{0,99}$/.test(field) ? field : '(a field)'}: ${rule}`);
  return rules.join('; ');
}

async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
