// Guardrails and prices within `configurations`, of integrations and servers alike.
import type { McpGuardrails, McpRules, ToolGuardrails } from '../../access/mcp/mcp-collections.ts';
import type { TenantScope } from '../../call/scope.ts';
import { invalidField } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { DocumentStore } from '../../store/documents.ts';
import { guardrailIds } from '../guardrails/usage.ts';
import { defined } from '../kit/patch.ts';

const MOST_TOOLS = 500;
const MOST_GUARDRAILS = 20;
const LONGEST_NAME = 255;
const HIGHEST_PRICE = 1_000_000;

/** The members of `configurations` that are rules. */
export const RULE_MEMBERS: ReadonlySet<string> = new Set(['guardrails', 'tool_prices']);

/**
 * The rules that a caller gives, guardrails by their ids.
 * @returns undefined where there are none
 * @throws GatewayError validation_failed, naming the member
 */
export async function readRules(
  documents: DocumentStore,
  scope: TenantScope,
  configurations: JsonObject,
): Promise<McpRules | undefined> {
  const { guardrails, tool_prices: prices } = configurations;
  const rules = defined<McpRules>({
    guardrails: present(guardrails) ? await guardrailsOf(documents, scope, guardrails) : undefined,
    toolPrices: present(prices) ? pricesOf(prices) : undefined,
  });
  return Object.keys(rules).length === 0 ? undefined : rules;
}

/** As callers write them. */
export function shownRules({ guardrails, toolPrices }: McpRules = {}): JsonObject {
  const { tools, ...sides } = guardrails ?? {};
  const byTool = tools?.map(({ tool, ...own }): [string, JsonObject] => [tool, own as JsonObject]);
  const shown = { ...sides, ...(byTool === undefined ? {} : { tools: Object.fromEntries(byTool) }) };
  return {
    ...(guardrails === undefined ? {} : { guardrails: shown as JsonObject }),
    ...(toolPrices === undefined
      ? {}
      : { tool_prices: Object.fromEntries(toolPrices.map(({ tool, price }) => [tool, price])) }),
  };
}

async function guardrailsOf(documents: DocumentStore, scope: TenantScope, given: Json) {
  const field = 'configurations.guardrails';
  const { tools, ...all } = objectAt(field, given, ['input', 'output', 'tools']);
  const own: ToolGuardrails[] = [];
  for (const [tool, sides] of present(tools) ? namedBy(`${field}.tools`, tools) : []) {
    const at = `${field}.tools.${tool}`;
    own.push({ tool, ...(await sidesOf(documents, scope, objectAt(at, sides, ['input', 'output']), at)) });
  }
  return { ...(await sidesOf(documents, scope, all, field)), ...(own.length === 0 ? {} : { tools: own }) };
}

async function sidesOf(documents: DocumentStore, scope: TenantScope, given: JsonObject, field: string) {
  const read = async (side: 'input' | 'output') => {
    const names = given[side];
    if (!present(names)) return undefined;
    const at = `${field}.${side}`;
    if (!Array.isArray(names) || names.length > MOST_GUARDRAILS)
      throw invalidField(
        at,
        `must be a list of at most ${MOST_GUARDRAILS} ids or slugs of guardrails`,
        'type',
      );
    for (const [i, name] of names.entries())
      if (typeof name !== 'string') throw invalidField(`${at}[${i}]`, 'must be a text', 'type');
    const event = side === 'input' ? 'input' : 'output';
    const ids = await guardrailIds(documents, scope, names as string[], event, at);
    return ids.length === 0 ? undefined : ids;
  };
  return defined<McpGuardrails>({ input: await read('input'), output: await read('output') });
}

function pricesOf(given: Json) {
  const field = 'configurations.tool_prices';
  const prices = namedBy(field, given).map(([tool, price]) => {
    if (typeof price !== 'number' || !(price >= 0 && price <= HIGHEST_PRICE))
      throw invalidField(
        `${field}.${tool}`,
        `must be a number from 0 to ${HIGHEST_PRICE}: US dollars for a call`,
      );
    return { tool, price };
  });
  return prices.length === 0 ? undefined : prices;
}

/** The members of an object by tool. */
function namedBy(field: string, given: Json): [string, Json][] {
  const members = Object.entries(objectAt(field, given));
  if (members.length > MOST_TOOLS) throw invalidField(field, `must have at most ${MOST_TOOLS} members`);
  for (const [name] of members)
    if (name === '' || name.length > LONGEST_NAME)
      throw invalidField(field, `must have names of tools of 1 to ${LONGEST_NAME} characters`);
  return members;
}

/** @param known the members that it may have; absent: any */
export function objectAt(field: string, given: Json, known?: readonly string[]): JsonObject {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw invalidField(field, 'must be an object', 'type');
  const other = known && Object.keys(given).find((name) => !known.includes(name));
  if (other !== undefined)
    throw invalidField(`${field}.${other.slice(0, 64)}`, `is unknown: there are ${known?.join(', ')}`);
  return given as JsonObject;
}

function present(value: Json | undefined): value is Json {
  return value !== undefined && value !== null;
}
