// Sends an alert to an address of its organisation, signed as Standard Webhooks are (standardwebhooks.com).
import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Aborter, type AbortLike } from '../../lib/abort.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';
import type { WebhookAddress } from './audience.ts';

/** One message. */
export interface WebhookMessage {
  /** The same for every attempt: receivers detect repetitions by it. */
  readonly id: string;
  /** JSON text. */
  readonly body: string;
}

export interface WebhookOptions {
  readonly dialer: Pick<Dialer, 'check' | 'whole'>;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Aborts everything: the gateway stops. */
  readonly signal: AbortLike;
  /** Before the second and the third time, in milliseconds. */
  readonly pausesMs?: readonly number[];
}

/** The deadline of one answer. */
const ANSWER_MS = 10_000;
const PAUSES_MS = [500, 2000];
const MOST_BYTES = 64 * 1024;

/**
 * Sends it, at most three times, within 35 seconds. Any 2xx is a success.
 * @throws GatewayError host_refused, or what the last answer was.
 */
export async function postWebhook(
  address: WebhookAddress,
  message: WebhookMessage,
  { dialer, now, signal, pausesMs = PAUSES_MS }: WebhookOptions,
): Promise<void> {
  dialer.check(address.url, 'alert_webhook_url');
  const { origin, pathname, search } = new URL(address.url);
  for (let turn = 0; ; turn++) {
    const over = new Aborter();
    const stop = (): void => over.abort(fail('overloaded', 'the gateway is stopping'));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
    const late = setTimeout(
      () => over.abort(fail('upstream_timeout', 'the alert webhook does not answer')),
      ANSWER_MS,
    );
    try {
      const { status } = await dialer.whole(
        {
          origin,
          path: pathname + search,
          method: 'POST',
          signal: over,
          body: message.body,
          headers: signedHeaders(address, message, now()),
        },
        MOST_BYTES,
      );
      if (status >= 200 && status <= 299) return;
      throw fail('upstream_status', `the alert webhook answered with status ${status}`, { status });
    } catch (error) {
      const pause = pausesMs[turn];
      if (pause === undefined || signal.aborted) throw error;
      await sleep(pause);
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', stop);
    }
  }
}

function signedHeaders({ secret }: WebhookAddress, { id, body }: WebhookMessage, now: number): string[] {
  const at = String(Math.floor(now / 1000));
  const pairs = ['content-type', 'application/json', 'webhook-id', id, 'webhook-timestamp', at];
  if (secret !== undefined) pairs.push('webhook-signature', signatureOf(secret, `${id}.${at}.${body}`));
  return pairs;
}

/** `v1,` and the HMAC-SHA256 in base64. The part of a secret after the prefix `whsec_` is base64. */
export function signatureOf(secret: string, signed: string): string {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}
