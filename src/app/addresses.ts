// Addresses out of the settings.
import { parseAllowList } from '../lib/egress/allow-list.ts';
import { type Settings, SettingsError } from '../settings.ts';

/** Where this machine reaches the gateway. */
export function ownUrl({ host, tls }: Settings, port: number): string {
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Private places that may be called. @throws SettingsError */
export function readAllowList(text: string) {
  try {
    return parseAllowList(text);
  } catch (error) {
    throw new SettingsError(
      `GATEWAY_EGRESS_ALLOW: ${error instanceof Error ? error.message : 'cannot be read'}`,
    );
  }
}
