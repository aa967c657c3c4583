// Routes as path items: the same table that the edge serves.
import type { DescField, DescMessage, DescMethod } from '@bufbuild/protobuf';
import { AccessSchema, Form, Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { codec } from '../rest/codec.ts';
import { answersBytes, formOf } from '../rest/form-shape.ts';
import { shapeOf } from '../rest/json-shape.ts';
import { annotationsOf, type Route } from '../rest/routes.ts';
import { commentOf, paragraphs, summaryOf } from './comments.ts';
import { errorResponsesOf } from './errors.ts';
import { described, type Json, sorted } from './json.ts';
import { headersOf, securityOf } from './parameters.ts';
import { mustBeGiven } from './required.ts';
import type { Schemas } from './schemas.ts';
import { tagOf } from './tags.ts';
import { workspaceParameters } from './workspace.ts';

const VERBS = ['get', 'post', 'put', 'patch', 'delete'];

/** All routes by path, their verbs in the usual order. */
export function pathsOf(routes: readonly Route[], schemas: Schemas): { [path: string]: Json } {
  const paths = new Map<string, Map<string, Json>>();
  const ids = new Map<string, number>();
  for (const route of routes) {
    const count = (ids.get(route.method.name) ?? 0) + 1;
    ids.set(route.method.name, count);
    // A further binding of the same method is another operation to OpenAPI.
    const id = count === 1 ? route.method.name : `${route.method.name}_${count}`;
    const path = openPath(route);
    const item = paths.get(path) ?? new Map<string, Json>();
    item.set(route.verb.toLowerCase(), operationOf(route, id, schemas));
    paths.set(path, item);
  }
  return sorted(
    [...paths].map(([path, item]): [string, Json] => [
      path,
      Object.fromEntries(VERBS.flatMap((verb) => (item.has(verb) ? [[verb, item.get(verb)]] : []))),
    ]),
  );
}

/** A route's path as OpenAPI writes it. */
export function openPath({ template }: Route): string {
  return template.text.replace(/\{([^}=]+)=\*\*?\}/g, '{$1}');
}

/** Who may call a method, as the document shows it. */
export function accessOf(method: DescMethod): Json {
  const { access } = annotationsOf(method);
  const { scopes, kinds, open } = codec.encode(AccessSchema, access) as Json;
  return { scopes: scopes ?? [], kinds: kinds ?? [], ...(open === true ? { open } : {}) };
}

function operationOf(route: Route, operationId: string, schemas: Schemas): Json {
  const { method, plane } = route;
  const comment = commentOf(method);
  const { access } = annotationsOf(method);
  return {
    tags: [tagOf(method.parent)],
    summary: summaryOf(comment),
    description: comment,
    operationId,
    parameters: [...parametersOf(route, schemas), ...workspaceParameters(method), ...headersOf(plane)],
    ...(route.hasBody
      ? {
          requestBody: {
            required: needsBody(route),
            content: contentOf(method, schemas),
          },
        }
      : {}),
    responses: {
      ...(openingOf(method) ? SESSION : { 200: answerOf(route, schemas) }),
      ...errorResponsesOf(route),
    },
    security: access.open ? [] : securityOf(plane),
    'x-sluice-access': accessOf(method),
    'x-sluice-rpc': {
      method: `${method.parent.typeName}/${method.name}`,
      ...(route.streamMethod ? { stream: `${method.parent.typeName}/${route.streamMethod.name}` } : {}),
    },
  };
}

/** Files of forms that are not named `file`. */
const FILES: Readonly<Record<string, string>> = {
  CreateImageEdit: 'image',
  CreateImageVariation: 'image',
  CreateVideo: 'input_reference',
  AddUploadPart: 'data',
};

/** A form has its texts and its file. */
function contentOf(method: DescMethod, schemas: Schemas): Json {
  const form = formOf(method);
  if (form === undefined) return { 'application/json': { schema: schemas.ref(method.input) } };
  const file = { type: 'string', format: 'binary' };
  const member = FILES[method.name] ?? 'file';
  const schema = {
    allOf: [
      schemas.ref(form.head),
      { type: 'object', properties: { [member]: file }, ...(form.orJson ? {} : { required: [member] }) },
    ],
  };
  const json = form.orJson ? { 'application/json': { schema: schemas.ref(form.head) } } : {};
  return { 'multipart/form-data': { schema }, ...json };
}

/** The control plane reads a missing body as an empty one where the path carries everything required. */
function needsBody({ method, template, plane }: Route): boolean {
  const others = method.input.fields.filter(({ name }) => !template.fields.includes(name));
  return plane === Plane.DATA || others.some(mustBeGiven);
}

/** What opens a session, which is a WebSocket over REST. */
function openingOf(method: DescMethod): DescMessage | undefined {
  if (method.methodKind !== 'bidi_streaming') return undefined;
  return method.input.fields.find(({ name }) => name === 'open')?.message;
}

/** The path's fields; and, without a body, the others as query parameters. */
function parametersOf({ method, template, hasBody }: Route, schemas: Schemas): Json[] {
  const input = formOf(method)?.head ?? openingOf(method) ?? method.input;
  const shape = shapeOf(input);
  if (shape.kind !== 'object') return [];
  const parameters = shape.fields.flatMap((field): Json[] => {
    const own = input.fields.find((candidate) => candidate.localName === field.local) as DescField;
    const inPath = template.fields.includes(own.name);
    // rest/query.ts reads text: messages and maps do not fit into a query.
    if (!inPath && (hasBody || own.message || field.many === 'map')) return [];
    const { schema, description } = schemas.member(own, field);
    const rest = template.text.includes(`{${own.name}=**}`) ? 'May contain slashes.' : '';
    const head = { name: inPath ? own.name : field.name, in: inPath ? 'path' : 'query' };
    const required = inPath || mustBeGiven(own) ? { required: true } : {};
    return [{ ...described({ ...head, ...required }, paragraphs(description, rest)), schema }];
  });
  const at = ({ name }: Json): number => template.fields.indexOf(name as string);
  const inPath = parameters.filter((parameter) => parameter.in === 'path').sort((a, b) => at(a) - at(b));
  return [...inPath, ...parameters.filter((parameter) => parameter.in === 'query')];
}

/** What opens a session answers with. */
const SESSION: Json = {
  101: {
    description:
      "The session is open: a WebSocket, whose frames are the provider's both ways. Asked for with the headers `Connection: Upgrade` and `Upgrade: websocket`.",
  },
  200: {
    description:
      'The session is open over HTTP/2 (RFC 8441): asked for by CONNECT with `:protocol` `websocket`, and the same frames on its stream.',
  },
};

function answerOf({ method, streamMethod, plane }: Route, schemas: Schemas): Json {
  const comment = commentOf(method.output);
  if (answersBytes(method)) {
    return {
      description: 'The bytes.',
      headers: answerHeadersOf(plane),
      content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
    };
  }
  if (method.methodKind === 'server_streaming') {
    const { form } = annotationsOf(method);
    if (form !== Form.UNSPECIFIED) {
      const types =
        form === Form.BEDROCK
          ? ['application/vnd.amazon.eventstream']
          : ['text/event-stream', 'application/json'];
      return {
        description: paragraphs(comment, 'Pieces of the schema shown.'),
        headers: answerHeadersOf(plane),
        content: Object.fromEntries(types.map((type) => [type, { schema: schemas.ref(method.output) }])),
      };
    }
    return {
      description: paragraphs(comment, 'One JSON object of the schema shown a line.'),
      headers: answerHeadersOf(plane),
      content: { 'application/jsonl': { schema: schemas.ref(method.output) } },
    };
  }
  if (streamMethod !== undefined && answersBytes(streamMethod)) {
    const text = { schema: { type: 'string' } };
    return {
      description: paragraphs(comment, 'Text where `response_format` asks for it; events with `stream`.'),
      headers: answerHeadersOf(plane),
      content: {
        'application/json': { schema: schemas.ref(method.output) },
        'text/plain': text,
        'text/event-stream': text,
      },
    };
  }
  const chunk = streamMethod && { schema: schemas.ref(streamMethod.output) };
  const streamed =
    'With `"stream": true`: server-sent events; the `data` of each is JSON of the schema shown, and the last is `[DONE]`.';
  return {
    description: paragraphs(comment, chunk ? streamed : '') || 'Done.',
    headers: answerHeadersOf(plane),
    content: {
      'application/json': { schema: schemas.ref(method.output) },
      ...(chunk ? { 'text/event-stream': chunk } : {}),
    },
  };
}

/** Headers that every answer of a plane carries. */
export function answerHeadersOf(plane: Plane): Json {
  return {
    'x-gateway-request-id': { $ref: '#/components/headers/RequestId' },
    'x-gateway-trace-id': { $ref: '#/components/headers/TraceId' },
    ...(plane === Plane.DATA ? { 'x-gateway-provider': { $ref: '#/components/headers/Provider' } } : {}),
  };
}
