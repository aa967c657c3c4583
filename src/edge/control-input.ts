// The message of an operation of the control plane, of its path, query and body.
import type { Message } from '@bufbuild/protobuf';
import type { Call } from '../call/call.ts';
import { codec } from '../rest/codec.ts';
import { takeWorkspace } from '../rest/named-workspace.ts';
import { bindPath, readQuery } from '../rest/query.ts';
import type { Route } from '../rest/routes.ts';

/** A workspace that is named outside of the message goes to the call. @throws GatewayError validation_failed */
export function controlInput(
  call: Call,
  { method, hasBody }: Route,
  values: ReadonlyMap<string, string>,
  given: string,
  body: unknown,
): Message {
  const desc = method.input;
  const { query, json, workspace } = takeWorkspace(method, given, body);
  call.namedWorkspace = workspace;
  // Some clients put into the query what others put into the body.
  const asked = readQuery(desc, query);
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  const isNothing = !hasBody || (json === null && values.size > 0);
  if (!isObject && !isNothing) return codec.decodeRequest(desc, json);
  return codec.decodeRequest(desc, bindPath(desc, { ...asked, ...(json as object) }, values));
}
