// Whether the principal may call the method.
import { accessCheck } from '../../access/authorize.ts';
import { fail } from '../../lib/errors.ts';
import { annotationsOf } from '../../rest/routes.ts';
import type { Interceptor } from '../handler.ts';

export const accessInterceptor: Interceptor = (method) => {
  const { access } = annotationsOf(method);
  const check = accessCheck(access);
  return (next) => (input, call) => {
    if (access.open) return next(input, call);
    if (call.principal === undefined) throw fail('unauthenticated', 'an API key is needed');
    check(call.principal);
    return next(input, call);
  };
};
