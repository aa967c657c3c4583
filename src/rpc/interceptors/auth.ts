// Who calls: the key or token in the headers becomes the call's principal.
import { authenticate, type Callers } from '../../access/authenticate.ts';
import type { Principal } from '../../call/principal.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { annotationsOf } from '../../rest/routes.ts';
import type { Interceptor } from '../handler.ts';

export function authInterceptor(callers: Callers): Interceptor {
  return (method) => {
    const { open } = annotationsOf(method).access;
    return (next) => (input, call) => {
      if (open) return next(input, call);
      const { identity } = call;
      if (identity !== undefined) {
        call.presentedKey = identity.key;
        call.providerCredential = identity.providerCredential;
        call.principal = identity.principal;
        return next(input, call);
      }
      const { principal, key, providerCredential } = authenticate(
        call.headers,
        callers,
        call.arrivedAt,
        call.source.connection,
      );
      call.presentedKey = key;
      call.providerCredential = providerCredential;
      if (!(principal instanceof Promise)) {
        call.principal = principal;
        return next(input, call);
      }
      return whileCalled(principal, call.signal).then((verified) => {
        call.principal = verified;
        return next(input, call);
      });
    };
  };
}

/** A caller who leaves, or whose time is up, does not wait for the keys of an issuer. */
function whileCalled(principal: Promise<Principal>, signal: AbortLike): Promise<Principal> {
  return new Promise((resolve, reject) => {
    const left = (): void => reject(signal.reason);
    if (signal.aborted) left();
    signal.addEventListener('abort', left);
    principal.then(resolve, reject).finally(() => signal.removeEventListener('abort', left));
  });
}
