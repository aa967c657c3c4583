// Operations whose wire is the contract's own: the verb and path of their method, the message as JSON, and what the
// message does not name goes along.
import type { DescMethod, Message } from '@bufbuild/protobuf';
import { http } from '../../gen/google/api/annotations_pb.ts';
import { optionOf } from '../lib/contract-options.ts';
import { fail } from '../lib/errors.ts';
import { jsonBody } from '../lib/json-in-slices.ts';
import type { Dialect, MessageJson, Operation, Outbound } from './dialect.ts';
import { isObject } from './json-object.ts';
import { parseAnswer } from './parse-answer.ts';
import { pathSegment } from './path-segment.ts';
import { RELAYED, RELAYED_NAMES, type RelayedName } from './relayed-rows.ts';
import { checkRelayedWords } from './relayed-words.ts';

type Json = Record<string, unknown>;

const HEADERS = Object.freeze(['accept', 'application/json']);
const BODY_HEADERS = Object.freeze(['content-type', 'application/json', ...HEADERS]);
const VARIABLE = /\{([a-z_]+)\}/g;

/** All of them, for a dialect of OpenAI's form. */
export function relayedOperations(json: MessageJson): Pick<Dialect, RelayedName> {
  const entries = RELAYED_NAMES.map((name) => [name, relayed(json, RELAYED[name].rpc)]);
  return Object.fromEntries(entries) as Pick<Dialect, RelayedName>;
}

/** One method's wire. @throws Error for a method without a path */
export function relayed(json: MessageJson, method: DescMethod): Operation<Message, Message> {
  const { input, output } = method;
  const { verb, template, hasBody } = wayOf(method);
  return {
    request(request, { target }): Outbound {
      const members = json.encode(input, request) as Json;
      checkRelayedWords(target.provider, method.name, members);
      const path = filled(template, members);
      if (hasBody) return { method: verb, path, headers: BODY_HEADERS, body: jsonBody(members) };
      return { method: verb, path: withQuery(path, members), headers: HEADERS, body: undefined };
    },
    response(body, _request, { target }) {
      const provider = target.provider.id;
      // Some answer a deletion with 204.
      const value = verb === 'DELETE' && body.length === 0 ? { deleted: true } : parseAnswer(body, provider);
      // Together lists with the bare array.
      const object = Array.isArray(value) ? { object: 'list', data: value } : value;
      if (!isObject(object))
        throw fail('upstream_garbage', 'the provider answered with JSON that is not an object', { provider });
      return { answer: json.decode(output, object), usage: undefined, model: undefined };
    },
  };
}

interface Way {
  readonly verb: Outbound['method'];
  readonly template: string;
  readonly hasBody: boolean;
}

function wayOf(method: DescMethod): Way {
  const { pattern, body } = optionOf(method, http);
  if (pattern.case !== 'get' && pattern.case !== 'post' && pattern.case !== 'delete')
    throw new Error(`${method.name}: no path to relay`);
  return {
    verb: pattern.case.toUpperCase() as Outbound['method'],
    template: pattern.value,
    hasBody: body === '*',
  };
}

/** The path with its variables, which are taken out of the members. */
function filled(template: string, members: Json): string {
  return template.replaceAll(VARIABLE, (_, name: string) => {
    const value = String(members[name] ?? '');
    delete members[name];
    return pathSegment(value);
  });
}

function withQuery(path: string, members: Json): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(members))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== null && typeof one !== 'object') query.append(name, String(one));
  return query.size === 0 ? path : `${path}?${query}`;
}
