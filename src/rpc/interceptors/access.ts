// Whether the principal may call the method: its key's kind and scopes, its workspace, and the role of the
// person that the key belongs to.
import type { Directory } from '../../access/directory.ts';
import { admission } from '../../access/still-valid.ts';
import { fail } from '../../lib/errors.ts';
import { annotationsOf } from '../../rest/routes.ts';
import type { Interceptor } from '../handler.ts';

export function accessInterceptor(directory: Directory): Interceptor {
  return (method) => {
    const { access } = annotationsOf(method);
    const admit = admission(access, directory);
    return (next) => (input, call) => {
      if (access.open) return next(input, call);
      const { principal } = call;
      if (principal === undefined) throw fail('unauthenticated', 'an API key is needed');
      admit(principal);
      return next(input, call);
    };
  };
}
