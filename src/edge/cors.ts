// Cross-origin calls from browsers, for the origins of GATEWAY_CORS_ORIGINS only.
import type { Middleware } from 'koa';

const MAX_AGE_SECONDS = '600';

/** Answers preflights and names the allowed origin. `*` allows every origin. */
export function cors(origins: readonly string[], exposed: readonly string[]): Middleware {
  const any = origins.includes('*');
  return async (ctx, next) => {
    const origin = ctx.get('origin');
    const allowed = origin !== '' && (any || origins.includes(origin));
    if (allowed) {
      ctx.res.setHeader('access-control-allow-origin', origin);
      ctx.res.setHeader('access-control-expose-headers', exposed.join(', '));
      ctx.res.appendHeader('vary', 'origin');
    }
    if (ctx.method !== 'OPTIONS' || ctx.get('access-control-request-method') === '') return next();
    if (allowed) {
      ctx.set('access-control-allow-methods', 'GET, POST, PUT, DELETE');
      ctx.set(
        'access-control-allow-headers',
        ctx.get('access-control-request-headers') || 'authorization, content-type',
      );
      ctx.set('access-control-max-age', MAX_AGE_SECONDS);
    }
    ctx.status = 204;
  };
}
