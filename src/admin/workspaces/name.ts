// Workspaces of an organisation have names of their own, letter for letter, as slugs are unique.
import type { Directory } from '../../access/directory.ts';
import { fail, GatewayError } from '../../lib/errors.ts';

/**
 * Runs a change that gives a workspace its name.
 * @param id the workspace's
 * @param name undefined: it stays
 * @throws GatewayError conflict for the name of another active workspace
 */
export async function withOwnName<T>(
  directory: Directory,
  organisationId: string,
  id: string,
  name: string | undefined,
  change: () => Promise<T>,
): Promise<T> {
  // Of before names were unique the store's index knows nothing.
  const isTaken = directory.workspaceIds(organisationId).some((other) => {
    const body = other === id ? undefined : directory.workspace(organisationId, other)?.body;
    return body !== undefined && body.uniqueName === undefined && body.name === name;
  });
  if (isTaken) throw nameTaken();
  try {
    return await change();
  } catch (error) {
    const isName = ({ field }: { readonly field: string }): boolean => field === 'uniqueName';
    if (
      error instanceof GatewayError &&
      error.reason === 'conflict' &&
      error.details.violations?.some(isName)
    )
      throw nameTaken();
    throw error;
  }
}

function nameTaken(): GatewayError {
  const message = 'is the name of another workspace of the organisation';
  return fail('conflict', `name: ${message}: choose another`, {
    param: 'name',
    violations: [{ field: 'name', rule: 'unique', message }],
  });
}
