// Whether the principal may call the method: its key's kind and scopes, its workspace, and the role of the
// person that the key belongs to.
import { accessCheck } from '../../access/authorize.ts';
import type { Directory } from '../../access/directory.ts';
import { checkRole } from '../../access/roles.ts';
import { fail } from '../../lib/errors.ts';
import { annotationsOf } from '../../rest/routes.ts';
import type { Interceptor } from '../handler.ts';

export function accessInterceptor(directory: Directory): Interceptor {
  return (method) => {
    const { access } = annotationsOf(method);
    const check = accessCheck(access);
    return (next) => (input, call) => {
      if (access.open) return next(input, call);
      const { principal } = call;
      if (principal === undefined) throw fail('unauthenticated', 'an API key is needed');
      const { organisationId, workspaceId, userId } = principal;
      if (workspaceId !== undefined && directory.workspace(organisationId, workspaceId) === undefined)
        throw fail('forbidden', 'the workspace of this key is archived');
      check(principal);
      if (userId !== undefined && !access.authenticated) checkRole(directory, principal, access.scopes);
      return next(input, call);
    };
  };
}
