// Every operation of the contract as a request, and the paths that are no operation of it but lead somewhere.

import { getOption } from '@bufbuild/protobuf';
import { access } from '../../gen/gateway/options/v2/options_pb.ts';
import { createRouteTable } from '../../src/rest/routes.ts';
import { generatedFiles, servicesOf } from '../architecture/contract.ts';

/** One request to the gateway, with the path after the base. */
export interface Call {
  readonly verb: string;
  readonly path: string;
  /** The same operation over Connect; undefined for paths that pass through, and for streams both ways. */
  readonly rpc: string | undefined;
  /** Whether it answers by a stream. */
  readonly streams: boolean;
}

const PASSED_THROUGH = [
  '/audio/speech',
  '/responses',
  '/files',
  '/v1beta/models/x:generateContent',
  '/proxy/v1/admin',
];

/** Every operation that asks for a credential, with made-up values in its path, and raw paths. */
export async function everyCall(): Promise<Call[]> {
  const { routes } = createRouteTable(servicesOf(await generatedFiles()));
  const declared = routes
    .filter(({ method }) => !getOption(method, access)?.open)
    .map(({ verb, template, method }) => ({
      verb,
      path: template.text.replace(/\{[^}]+\}/g, 'made-up'),
      // Both ways at once needs HTTP/2, which this is not.
      rpc: method.methodKind === 'bidi_streaming' ? undefined : `/${method.parent.typeName}/${method.name}`,
      streams: method.methodKind !== 'unary',
    }));
  const raw = PASSED_THROUGH.map((path) => ({ verb: 'POST', path, rpc: undefined, streams: false }));
  return [...declared, ...raw];
}

/** The status of a call over REST, and the one of its RPC over Connect. `headers` are all that it carries. */
export async function statusesOf(
  origin: string,
  { verb, path, rpc, streams }: Call,
  headers: Readonly<Record<string, string>>,
): Promise<readonly number[]> {
  const found = [await ask(verb, `${origin}/v1${path}`, headers, 'application/json', '{}')];
  if (rpc === undefined) return found;
  return streams
    ? [...found, await ask('POST', origin + rpc, headers, 'application/connect+json', '\0\0\0\0\x02{}')]
    : [...found, await ask('POST', origin + rpc, headers, 'application/json', '{}')];
}

async function ask(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  type: string,
  body: string,
): Promise<number> {
  const answer = await fetch(url, {
    method,
    headers: { ...headers, 'content-type': type },
    ...(method === 'GET' || method === 'DELETE' ? {} : { body }),
  });
  const text = await answer.text();
  // A stream over Connect says how it went in its last message.
  return type.includes('connect') && text.includes('"code":"unauthenticated"') ? 401 : answer.status;
}
