// Which questions of an older server a request of 2026-07-28 allows.
import type { Asked } from '../relay/asked.ts';
import { META, metaOf } from '../wire/eras.ts';
import { isObject, type RpcRequest } from '../wire/json-rpc.ts';
import { MAY_ASK } from './url-questions.ts';

/** What a client must have declared for a server's question. */
const NEEDED: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};

/** The capability that a question needs; undefined: none has it. */
export function neededFor(method: string): string | undefined {
  return Object.hasOwn(NEEDED, method) ? NEEDED[method] : undefined;
}

/** @param ofTask the question is one of a task, and not of the request itself */
export function declares(
  { message }: Asked & { readonly message: RpcRequest },
  { method, params = {} }: RpcRequest,
  ofTask = false,
): boolean {
  const needed = neededFor(method);
  // The results of other requests cannot ask.
  if (needed === undefined || !(ofTask || MAY_ASK.has(message.method))) return false;
  const declared = metaOf(message)?.[META.clientCapabilities];
  const capability = isObject(declared) ? declared[needed] : undefined;
  if (!isObject(capability) || needed !== 'elicitation') return isObject(capability);
  // Without a mode the capability is that of forms.
  const { form, url } = capability;
  return params.mode === 'url' ? isObject(url) : isObject(form) || !isObject(url);
}
