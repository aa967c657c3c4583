// Few words for models: two tools in the place of all. One finds tools by words, the other calls what was found.
import { fail } from '../../lib/errors.ts';
import { unknownTool } from '../visibility.ts';
import { isObject, type JsonObject } from '../wire/json-rpc.ts';

export const SEARCH_TOOLS = 'search_tools';
export const CALL_TOOL = 'call_tool';

const USUAL = 10;
const MOST = 50;
const MOST_QUERY = 1000;

/** An entry of the list. */
export const SEARCH_LIST: readonly JsonObject[] = [
  {
    name: SEARCH_TOOLS,
    title: 'Search tools',
    description:
      'Finds tools by words of their names and descriptions. Returns names, descriptions and input schemas, best first. ' +
      `Call what you found with ${CALL_TOOL}.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          maxLength: MOST_QUERY,
          description: 'What the tool should do, in a few words.',
        },
        limit: { type: 'integer', minimum: 1, maximum: MOST, default: USUAL },
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true },
  },
  {
    name: CALL_TOOL,
    title: 'Call a tool',
    description: `Calls a tool that ${SEARCH_TOOLS} found, by its name and with arguments of its input schema.`,
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name as it was found.' },
        arguments: { type: 'object', description: 'Arguments of the tool.' },
      },
      required: ['name'],
      additionalProperties: false,
    },
    annotations: { openWorldHint: true },
  },
];

/** The parameters of the call that is meant. @throws GatewayError for names that lead nowhere */
export function calledParams(params: JsonObject): JsonObject {
  const given = isObject(params.arguments) ? params.arguments : {};
  const { name, arguments: args = {} } = given;
  if (name === SEARCH_TOOLS || name === CALL_TOOL) throw unknownTool(name);
  if (typeof name !== 'string')
    throw fail('validation_failed', 'Invalid params: arguments.name must be the name of a tool');
  if (!isObject(args))
    throw fail('validation_failed', 'Invalid params: arguments.arguments must be an object');
  return { ...params, name, arguments: args };
}

/** @throws GatewayError validation_failed for arguments that are none */
export function searchResult(args: JsonObject | undefined, tools: readonly JsonObject[]): JsonObject {
  const { query, limit = USUAL } = args ?? {};
  if (typeof query !== 'string' || query.length > MOST_QUERY)
    throw fail(
      'validation_failed',
      `Invalid params: query must be a text of at most ${MOST_QUERY} characters`,
    );
  if (!Number.isInteger(limit) || (limit as number) < 1 || (limit as number) > MOST)
    throw fail('validation_failed', `Invalid params: limit must be a whole number from 1 to ${MOST}`);
  const found = ranked(query, tools)
    .slice(0, limit as number)
    .map(({ name, title, description, inputSchema }) => ({
      name,
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description }),
      inputSchema,
    }));
  const structuredContent = { tools: found, total: tools.length };
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
}

/** Those that have a word of the query, best first; all of them for a query without words. */
function ranked(query: string, tools: readonly JsonObject[]): readonly JsonObject[] {
  const wanted = [...new Set(wordsOf(query))];
  if (wanted.length === 0) return tools;
  const counted = tools.map((tool) => ({ tool, counts: countsOf(tool) }));
  // A word that few tools have says more than one that all have.
  const weights = wanted.map((word) => {
    const having = counted.filter(({ counts }) => counts.has(word)).length;
    return [word, Math.log(1 + tools.length / (1 + having))] as const;
  });
  return counted
    .map(({ tool, counts }) => {
      const score = weights.reduce((sum, [word, weight]) => {
        const count = counts.get(word) ?? 0;
        return sum + (weight * count) / (count + 1.2);
      }, 0);
      return { tool, score };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ tool }) => tool);
}

/** The weight of each word of a tool: words of its name weigh most. */
function countsOf({ name, title, description, inputSchema }: JsonObject): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const add = (text: unknown, weight: number): void => {
    for (const word of wordsOf(typeof text === 'string' ? text.slice(0, 4096) : ''))
      counts.set(word, (counts.get(word) ?? 0) + weight);
  };
  add(name, 3);
  add(title, 2);
  add(description, 1);
  const properties = isObject(inputSchema) && isObject(inputSchema.properties) ? inputSchema.properties : {};
  for (const property of Object.keys(properties).slice(0, 100)) add(property, 0.5);
  return counts;
}

/** Words of prose and of names such as `getUserById`, `get_user`; a plural is its singular. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1)
    .map((word) =>
      word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word,
    );
}
