// The text presented as a key: shown masked when it was refused, and in no other way.
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';

/** The text that authentication looked at first; undefined when none was sent. */
export function presentedToken(headers: GatewayHeaders): string | undefined {
  const own = headers.get('api-key');
  if (own !== undefined && own !== '') return own;
  for (const name of ['authorization', 'x-api-key']) {
    const text = headers
      .plain(name)
      ?.replace(/^bearer +/i, '')
      .trim();
    if (text !== undefined && text !== '') return text;
  }
  return undefined;
}
