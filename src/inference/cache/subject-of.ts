// A call of the pipeline as the cache sees it.
import type { Dialect, Target } from '../../providers/dialect.ts';
import { locate } from '../../providers/locate.ts';
import type { OperationName } from '../../providers/operations.ts';
import type { Written } from '../pipeline/write-request.ts';
import type { CacheSubject } from './key.ts';

/** Whose call it is. */
export interface CacheCaller {
  readonly organisationId: string;
  readonly workspaceId: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * What the key of a call is made of.
 *
 * @param bound the target and the caller's headers that go on to it
 * @param wire what the provider is asked for: another operation where it is translated
 * @param outbound the request in the form that asks for a whole answer (`operation.request`), for streams as well
 * @param model the model that is asked for
 * @param guardrails tells the answer's guardrails from others; empty: none
 */
export function subjectOf(
  { organisationId, workspaceId, metadata }: CacheCaller,
  { target, forwarded }: { readonly target: Target; readonly forwarded: readonly string[] },
  dialect: Dialect,
  operation: OperationName,
  wire: OperationName,
  outbound: Written,
  model: string,
  guardrails?: string,
): CacheSubject {
  const { method, body } = outbound;
  return {
    organisationId,
    workspaceId,
    target,
    operation,
    model,
    metadata,
    guardrails,
    request: {
      method,
      ...locate(target, wire, outbound),
      headers: [...forwarded, ...dialect.headers(target), ...outbound.headers],
      body,
    },
  };
}
