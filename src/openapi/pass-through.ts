// The operations that have no schema: any path of a provider. Described by hand,
// with access taken from ProxyService.Forward.
import type { DescMethod } from '@bufbuild/protobuf';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { errorRef } from './errors.ts';
import type { Json } from './json.ts';
import { headersOf, securityOf } from './parameters.ts';
import { accessOf, answerHeadersOf } from './paths.ts';
import { tagOf } from './tags.ts';

/** Statuses that the gateway itself may answer a forwarded request with. */
const ERRORS = ['400', '401', '403', '408', '412', '429', '446', '500', '502', '503', '504'];

/** `/proxy/{path}` with the four verbs that are passed through. */
export function passThroughPath(forward: DescMethod): Json {
  const path = {
    name: 'path',
    in: 'path',
    required: true,
    description: "The provider's path below its base URL, with slashes as they are; the query goes on too.",
    schema: { type: 'string', minLength: 1 },
  };
  const answer: Json = {
    description: "The provider's answer, unchanged.",
    headers: answerHeadersOf(Plane.DATA),
    content: { '*/*': { schema: {} } },
  };
  const operation = (verb: string): [string, Json] => [
    verb,
    {
      tags: [tagOf(forward.parent)],
      summary: `Forwards a ${verb.toUpperCase()} request to the selected provider`,
      description:
        "Path, query, headers and body bytes go to the provider as they are; the gateway's own headers and keys stay here. The provider's status, headers and bytes come back unchanged.",
      operationId: `Forward${verb[0]?.toUpperCase()}${verb.slice(1)}`,
      parameters: [path, ...headersOf(Plane.DATA)],
      ...(verb === 'post' || verb === 'put' ? { requestBody: { content: { '*/*': { schema: {} } } } } : {}),
      responses: {
        ...Object.fromEntries(ERRORS.map((status) => [status, errorRef(Plane.DATA, status)])),
        200: answer,
        default: answer,
      },
      security: securityOf(Plane.DATA),
      'x-sluice-access': accessOf(forward),
      'x-sluice-rpc': { stream: `${forward.parent.typeName}/${forward.name}` },
    },
  ];
  return Object.fromEntries(['get', 'post', 'put', 'delete'].map(operation));
}
