// Cross-origin calls from browsers, for the origins of GATEWAY_CORS_ORIGINS only.
import type { IncomingMessage, ServerResponse } from 'node:http';

const MAX_AGE_SECONDS = '600';

/**
 * Names the allowed origin on the answer. True when the request was a preflight, which is
 * then answered; one from another origin is answered without a word of permission.
 * @param origins allowed origins; `*` allows every one
 */
export function cors(
  origins: readonly string[],
  exposed: readonly string[],
): (req: IncomingMessage, res: ServerResponse) => boolean {
  const any = origins.includes('*');
  return (req, res) => {
    const { origin } = req.headers;
    const allowed = origin !== undefined && (any || origins.includes(origin));
    if (allowed) {
      res.setHeader('access-control-allow-origin', origin);
      res.setHeader('access-control-expose-headers', exposed.join(', '));
      res.setHeader('vary', 'origin');
    }
    if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined) return false;
    if (allowed) {
      res.setHeader('access-control-allow-methods', 'GET, POST, PUT, DELETE');
      res.setHeader(
        'access-control-allow-headers',
        req.headers['access-control-request-headers'] ?? 'authorization, content-type',
      );
      res.setHeader('access-control-max-age', MAX_AGE_SECONDS);
    }
    res.writeHead(204).end();
    return true;
  };
}
