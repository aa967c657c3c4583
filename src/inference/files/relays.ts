// Operations that are relayed as they are. Files of the gateway that a request names are uploaded to the provider first.
import type { Message } from '@bufbuild/protobuf';
import type { Call } from '../../call/call.ts';
import { type AnswerOf, operationRow, type RequestOf } from '../../providers/operations.ts';
import { RELAYED, type RelayedName } from '../../providers/relayed-rows.ts';
import { checkRelayedWords } from '../../providers/relayed-words.ts';
import { codec } from '../../rest/codec.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { bindOnly, runWhole } from '../pipeline/run.ts';
import { planOf } from '../plan/select.ts';
import { OWN_FILE } from './collection.ts';
import { checkReadable } from './place.ts';
import type { ProviderCopies } from './provider-copies.ts';

/** Methods by their names: those of the operations. */
export type Relays<N extends RelayedName> = {
  readonly [K in N]: (request: RequestOf<K>, call: Call) => Promise<AnswerOf<K>>;
};

/** One method for each operation. */
export function relays<N extends RelayedName>(
  pipeline: Pipeline,
  copies: ProviderCopies,
  names: readonly N[],
): Relays<N> {
  const methods = names.map((name) => [name, relayOf(pipeline, copies, name)] as const);
  return Object.fromEntries(methods) as unknown as Relays<N>;
}

/** One operation. */
export function relayOf<N extends RelayedName>(pipeline: Pipeline, copies: ProviderCopies, name: N) {
  return async (request: RequestOf<N>, call: Call): Promise<AnswerOf<N>> => {
    const { model } = request as { readonly model?: string };
    const sent = await withCopies(pipeline, copies, call, name, request, model);
    return runWhole(pipeline, call, name, sent, model);
  };
}

/** The request with the provider's names for files of the gateway. */
async function withCopies<N extends RelayedName>(
  pipeline: Pipeline,
  copies: ProviderCopies,
  call: Call,
  name: N,
  request: RequestOf<N>,
  model: string | undefined,
): Promise<RequestOf<N>> {
  const { request: desc, hasBody } = operationRow(name);
  if (!hasBody) return request;
  const routing = await planOf(call, pipeline.planner, model);
  const bound = await bindOnly(call, routing);
  checkReadable(pipeline, bound, name);
  const json = codec.encode(desc, request as Message);
  if (!JSON.stringify(json).includes(OWN_FILE)) return request;
  // A file is not uploaded for a request that is refused.
  checkRelayedWords(bound.target.provider, RELAYED[name].rpc.name, json);
  const changed = await copies.replaced(call, bound, json);
  return codec.decodeRequest(desc, changed) as RequestOf<N>;
}
