// Sends one alert to all recipients, each once: the sender holds a lease and records each recipient that was reached.
import type { AbortLike } from '../../lib/abort.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { toGatewayError } from '../../lib/errors.ts';
import type { Mailer } from '../../lib/mailer.ts';
import type { DocumentStore } from '../../store/documents.ts';
import type { SharedState } from '../../store/shared-state.ts';
import { type AlertBody, budgetAlerts } from './alert.ts';
import type { AlertDocument } from './alert-state.ts';
import type { Audience, FindAudience } from './audience.ts';
import { eventOf, mailOf } from './message.ts';
import { postWebhook } from './webhook.ts';

/** What alerts are sent with. */
export interface DeliveryDeps {
  readonly documents: Pick<DocumentStore, 'get' | 'update'>;
  readonly state: Pick<SharedState, 'acquireLease' | 'renewLease' | 'releaseLease'>;
  readonly dialer: Pick<Dialer, 'check' | 'whole'>;
  /** Undefined: no mail is sent. */
  readonly mailer: Mailer | undefined;
  readonly audienceOf: FindAudience;
  /** This process, as the owner of its leases. */
  readonly owner: string;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Aborts everything: the gateway stops. */
  readonly signal: AbortLike;
  /** Called with each document as it is written. */
  readonly written: (document: AlertDocument) => void;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** A recipient. */
interface Recipient {
  readonly name: string;
  send(): Promise<void>;
}

/** Longer than one recipient takes: three attempts at a webhook, or a mail server's timeout. */
const LEASE_MS = 90_000;
/** After the first failure; doubled after each further one. */
const RETRY_FIRST_MS = 5000;
const RETRY_LAST_MS = 600_000;
/** Over about three hours. */
const MOST_TRIES = 24;

/**
 * Sends an alert that is due, unless another instance does. Resolves with whether it is done, for now or for
 * good. @throws GatewayError store_unavailable.
 */
export async function deliver(deps: DeliveryDeps, { organisationId, id }: AlertDocument): Promise<boolean> {
  const { state, owner, documents } = deps;
  const lease = { key: `alert:${id}`, owner, leaseMs: LEASE_MS };
  const { acquired } = await state.acquireLease(organisationId, lease);
  if (!acquired) return false;
  try {
    const found = await documents.get({ organisationId, workspaceId: undefined }, budgetAlerts, id);
    if (found === undefined) return false;
    deps.written(found);
    if (found.body.state !== 'due' || found.body.nextTryAt > deps.now()) return false;
    return await sendTo(deps, found, () => state.renewLease(organisationId, lease));
  } finally {
    await state.releaseLease(organisationId, { key: lease.key, owner }).catch(() => {});
  }
}

async function sendTo(
  deps: DeliveryDeps,
  found: AlertDocument,
  stillOurs: () => Promise<boolean>,
): Promise<boolean> {
  const { audienceOf, signal, onTrouble } = deps;
  const audience = await audienceOf(found.organisationId, found.body);
  let alert: AlertDocument | undefined = found;
  let failures = 0;
  let writing = Promise.resolve();
  const reached = (name: string): Promise<void> => {
    writing = writing.then(async () => {
      alert = alert && (await write(deps, alert, { done: [...alert.body.done, name] }));
    });
    return writing;
  };
  const lane = async (recipients: readonly Recipient[]): Promise<void> => {
    for (const recipient of recipients) {
      if (found.body.done.includes(recipient.name)) continue;
      // Another instance has taken it over: this one was away for too long.
      if (alert === undefined || signal.aborted || !(await stillOurs())) {
        alert = undefined;
        return;
      }
      try {
        await recipient.send();
      } catch (error) {
        failures++;
        onTrouble(error, `an alert could not be sent yet (${found.body.tries + 1} of ${MOST_TRIES} tries)`);
        continue;
      }
      await reached(recipient.name);
    }
  };
  // A slow webhook holds up no mail.
  await Promise.all([lane(hooksOf(deps, found, audience)), lane(mailsOf(deps, found, audience))]);
  if (alert === undefined) return false;
  const change = failures === 0 ? sent(deps.now()) : later(alert.body, deps.now());
  return (await write(deps, alert, change)) !== undefined;
}

function sent(now: number): Partial<AlertBody> {
  return { state: 'sent', sentAt: now };
}

function later({ tries }: AlertBody, now: number): Partial<AlertBody> {
  if (tries + 1 >= MOST_TRIES) return { state: 'failed', tries: tries + 1 };
  const pause = Math.min(RETRY_FIRST_MS * 2 ** tries, RETRY_LAST_MS);
  return { tries: tries + 1, nextTryAt: now + pause };
}

/** Undefined: the document changed meanwhile, and is another alert now. */
async function write(
  { documents, now, written }: DeliveryDeps,
  alert: AlertDocument,
  change: Partial<AlertBody>,
): Promise<AlertDocument | undefined> {
  const { organisationId, id, version, body } = alert;
  try {
    const after = await documents.update(
      { organisationId, workspaceId: undefined },
      budgetAlerts,
      id,
      version,
      {
        body: { ...body, ...change },
        updatedAt: now(),
      },
    );
    written(after);
    return after;
  } catch (thrown) {
    if (toGatewayError(thrown).reason === 'version_conflict') return undefined;
    throw thrown;
  }
}

function mailsOf({ mailer }: DeliveryDeps, alert: AlertDocument, audience: Audience): Recipient[] {
  if (mailer === undefined) return [];
  const mail = mailOf(alert.body, audience);
  return audience.emails.map((to) => ({
    name: `mail:${to}`,
    send: () => mailer.send({ to, ...mail, id: messageId(alert) }),
  }));
}

function hooksOf(
  { dialer, now, signal }: DeliveryDeps,
  alert: AlertDocument,
  audience: Audience,
): Recipient[] {
  const { webhook } = audience;
  if (webhook === undefined) return [];
  const body = JSON.stringify(eventOf(alert.organisationId, alert.body, audience));
  const message = { id: messageId(alert), body };
  return [{ name: 'webhook', send: () => postWebhook(webhook, message, { dialer, now, signal }) }];
}

/** The same for every attempt. */
function messageId({ id, body }: AlertDocument): string {
  return `alert_${id}_${body.claim}`;
}
