// The webhook of an organisation's alerts, among its settings: checked, stored and shown.
import { keyMask } from '../../access/key-hash.ts';
import type { JsonObject } from '../../store/collection.ts';

/** Judges a webhook's address. @throws GatewayError host_refused naming the parameter */
export type CheckHost = (url: string, param: string) => void;

/**
 * Settings to store: an empty text removes its member, and a masked secret stands for itself.
 * @param settings as callers write them, over those before
 * @throws GatewayError host_refused for an address that may not be called
 */
export function keptWebhook(
  settings: JsonObject,
  before: JsonObject | undefined,
  checkHost: CheckHost,
): JsonObject {
  const { alert_webhook_url: url, alert_webhook_secret: secret, ...rest } = settings;
  const known = before?.alert_webhook_secret;
  const kept = typeof known === 'string' && secret === keyMask(known) ? known : secret;
  if (typeof url === 'string' && url !== '') checkHost(url, 'settings.alert_webhook_url');
  return {
    ...rest,
    ...(url === undefined || url === '' ? {} : { alert_webhook_url: url }),
    ...(kept === undefined || kept === '' ? {} : { alert_webhook_secret: kept }),
  };
}

/** Settings to show: of the secret the mask. */
export function shownWebhook(settings: JsonObject): JsonObject {
  const { alert_webhook_secret: secret } = settings;
  return typeof secret === 'string' ? { ...settings, alert_webhook_secret: keyMask(secret) } : settings;
}
