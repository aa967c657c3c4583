// Variables of the process's environment, of an exact list that the operator wrote.
import { secretFailure } from './failure.ts';
import type { ManagerDeps, SecretManager } from './manager.ts';

/** The path is the variable's name. @param allowed exact names (GATEWAY_SECRET_ENV_ALLOW) */
export function environmentSecrets(
  { environment }: Pick<ManagerDeps, 'environment'>,
  allowed: readonly string[],
): SecretManager {
  return {
    async read({ path }) {
      // The answer does not reveal whether a variable that is not listed exists.
      if (!allowed.includes(path))
        throw secretFailure('closed', 'secret_path: the operator has not listed this variable');
      const value = Object.hasOwn(environment, path) ? environment[path] : undefined;
      if (value === undefined || value === '') throw secretFailure('missing', 'the variable is not set');
      return value;
    },
  };
}
