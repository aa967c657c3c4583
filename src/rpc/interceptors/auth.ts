// Who calls: the key in the headers becomes the call's principal.
import { authenticate } from '../../access/authenticate.ts';
import type { KeyRing } from '../../access/key-ring.ts';
import { annotationsOf } from '../../rest/routes.ts';
import type { Interceptor } from '../handler.ts';

export function authInterceptor(keys: KeyRing): Interceptor {
  return (method) => {
    const { open } = annotationsOf(method).access;
    return (next) => (input, call) => {
      if (open) return next(input, call);
      const { principal, key, providerCredential } = authenticate(
        call.headers,
        keys,
        call.arrivedAt,
        call.source.connection,
      );
      call.principal = principal;
      call.presentedKey = key;
      call.providerCredential = providerCredential;
      return next(input, call);
    };
  };
}
