// One operation of an OpenAPI document as a tool: its name, its input schema, and where each argument goes.
import type { ArgumentPlace, RestArgument, RestTool } from '../../access/mcp/mcp-collections.ts';
import { headerFault } from '../../access/providers/header-fault.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { Described } from '../mcp-integrations/catalogue.ts';
import { DocumentError, type DocumentOperation } from './document-error.ts';
import { objectOf, resolved, standalone } from './references.ts';

const MOST_ARGUMENTS = 100;
const LONGEST_SCHEMA = 256 * 1024;
/** OpenAPI says that these three are no parameters; the others are the gateway's or the connection's. */
const NO_HEADERS = /^(?:accept|content-type|authorization)$/i;
const NEVER_HEADERS = /^(?:x-gateway-|mcp-|cookie$|content-|forwarded$|x-forwarded-)/i;
const BODIES = ['application/json', 'application/x-www-form-urlencoded', 'text/plain'];

/** @param names of the tools so far: taken ones are not given again. @throws DocumentError */
export function operationTool(
  document: JsonObject,
  item: JsonObject,
  source: JsonObject,
  operation: DocumentOperation,
  names: Set<string>,
  field: string,
): { readonly tool: RestTool; readonly described: Described } {
  const wrong = (message: string): DocumentError => new DocumentError(field, message);
  const { path, method, id } = operation;
  checkPath(path, wrong);
  const parameters = parametersOf(document, item, source, wrong);
  const placed = parameters.map((one) => placedParameter(document, one, wrong));
  const body = bodyOf(document, source, wrong);
  const all = [...placed.filter((one) => one !== undefined), ...(body === undefined ? [] : [body.argument])];
  if (all.length > MOST_ARGUMENTS) throw wrong(`has more than ${MOST_ARGUMENTS} arguments`);
  for (const [, name] of path.matchAll(/\{([^{}]*)\}/g))
    if (!all.some(({ argument }) => argument.place === 'path' && argument.name === name))
      throw wrong(`has no parameter for {${name}} of its path`);
  const given = new Set<string>();
  const named = all.map(({ argument, schema, description }) => {
    const free = [argument.argument, `${argument.place}_${argument.argument}`].find((one) => !given.has(one));
    if (free === undefined) throw wrong(`names the parameter ${argument.name} twice`);
    given.add(free);
    return { argument: { ...argument, argument: free }, schema, description };
  });
  const name = toolName(operation, names);
  const inputSchema = inputSchemaOf(document, named);
  if (JSON.stringify(inputSchema).length > LONGEST_SCHEMA) throw wrong('has a schema that is too long');
  const text = [source.summary, source.description].filter((one) => typeof one === 'string').join('\n\n');
  const operationId = typeof source.operationId === 'string' ? { operationId: source.operationId } : {};
  return {
    tool: {
      name,
      ...operationId,
      method,
      path,
      arguments: named.map(({ argument }) => argument),
      ...(body === undefined ? {} : { contentType: body.contentType }),
    },
    described: {
      type: 'tool',
      name,
      described: {
        description: (text === '' ? id : text).slice(0, 4096),
        inputSchema,
        annotations: { readOnlyHint: method === 'GET' || method === 'HEAD', openWorldHint: true },
      },
    },
  };
}

interface Placed {
  readonly argument: RestArgument;
  readonly schema: Json;
  readonly description: string | undefined;
}

function checkPath(path: string, wrong: (message: string) => DocumentError): void {
  const plain = path.replaceAll(/\{[^{}]*\}/g, 'x');
  const isPlain = /^\/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*$/.test(plain);
  const climbs = plain.split('/').some((part) => /^(?:\.|%2e){1,2}$/i.test(part));
  if (!isPlain || climbs) throw wrong('has a path that cannot be called');
}

/** Those of the path and of the operation, which win. */
function parametersOf(
  document: JsonObject,
  item: JsonObject,
  source: JsonObject,
  wrong: (message: string) => DocumentError,
): readonly JsonObject[] {
  const byPlace = new Map<string, JsonObject>();
  for (const list of [item.parameters, source.parameters]) {
    if (list !== undefined && !Array.isArray(list)) throw wrong('has parameters that are no list');
    for (const given of (list ?? []) as readonly Json[]) {
      const one = objectOf(resolved(document, given));
      byPlace.set(`${one.in} ${one.name}`, one);
    }
  }
  return [...byPlace.values()];
}

function placedParameter(
  document: JsonObject,
  parameter: JsonObject,
  wrong: (message: string) => DocumentError,
): Placed | undefined {
  const { name, in: place, description } = parameter;
  if (typeof name !== 'string' || name === '' || name.length > 255)
    throw wrong('has a parameter without a name');
  if (!['path', 'query', 'header', 'cookie'].includes(String(place)))
    throw wrong(`has the parameter ${name} in no place`);
  if (place === 'header' && NO_HEADERS.test(name)) return undefined;
  const fault = place === 'header' ? headerFault(name, 'x') : undefined;
  if (place === 'header' && (fault !== undefined || NEVER_HEADERS.test(name)))
    throw wrong(`has the header ${name}, which is not sent for a caller`);
  if (place === 'cookie' && !/^[A-Za-z0-9_.-]+$/.test(name))
    throw wrong(`has the cookie ${name}, which cannot be sent`);
  const usual = place === 'query' || place === 'cookie' ? 'form' : 'simple';
  if ((parameter.style ?? usual) !== usual || parameter.content !== undefined)
    throw wrong(`has the parameter ${name} in a style that cannot be encoded: only ${usual} is`);
  const schema = parameter.schema ?? {};
  if (objectOf(resolved(document, schema)).type === 'object')
    throw wrong(`has the parameter ${name}, an object, which cannot be encoded in its place`);
  return {
    argument: {
      argument: name,
      place: place as ArgumentPlace,
      name,
      required: place === 'path' || parameter.required === true,
      explode: place === 'query' ? parameter.explode !== false : false,
    },
    schema,
    description: typeof description === 'string' ? description : undefined,
  };
}

function bodyOf(document: JsonObject, source: JsonObject, wrong: (message: string) => DocumentError) {
  if (source.requestBody === undefined) return undefined;
  const body = objectOf(resolved(document, source.requestBody));
  const content = objectOf(body.content);
  const contentType =
    BODIES.find((type) => Object.hasOwn(content, type)) ??
    Object.keys(content).find((type) => /^application\/[a-z0-9.+-]+\+json$/.test(type));
  if (contentType === undefined)
    throw wrong(`has a body that cannot be encoded: only ${BODIES.join(', ')} are`);
  const argument: RestArgument = {
    argument: 'body',
    place: 'body',
    name: '',
    required: body.required === true,
    explode: false,
  };
  const schema = objectOf(content[contentType]).schema ?? {};
  const description = typeof body.description === 'string' ? body.description : undefined;
  return { contentType, argument: { argument, schema, description } };
}

function inputSchemaOf(document: JsonObject, named: readonly Placed[]): JsonObject {
  const defs = new Map<string, Json>();
  const properties = named.map(({ argument, schema, description }): [string, Json] => {
    const own = standalone(document, schema);
    for (const [name, def] of own.defs) defs.set(name, def);
    const said: JsonObject = description === undefined ? {} : { description: description.slice(0, 2048) };
    const isObject = typeof own.schema === 'object' && own.schema !== null;
    return [argument.argument, isObject ? { ...said, ...(own.schema as JsonObject) } : own.schema];
  });
  const required = named.filter(({ argument }) => argument.required).map(({ argument }) => argument.argument);
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...(defs.size === 0 ? {} : { $defs: Object.fromEntries(defs) }),
  };
}

function toolName({ id }: DocumentOperation, names: Set<string>): string {
  const plain =
    id
      .slice(0, 1024)
      .replaceAll(/[^A-Za-z0-9_.-]+/g, '_')
      .replaceAll(/^_+|_+$/g, '')
      .slice(0, 56) || 'operation';
  for (let n = 1; ; n++) {
    const name = n === 1 ? plain : `${plain}_${n}`;
    if (names.has(name)) continue;
    names.add(name);
    return name;
  }
}
