// default.requestParametersCheck: the tools and the parameters of a request are among those allowed, and none blocked.
import { defineCheck } from './contract/define.ts';
import { anything, defaulted, group, listOf, mapOf, required, texts } from './contract/fields.ts';
import { isObject } from './contract/parameters.ts';
import type { JsonObject } from './view/traffic.ts';

// An empty list is one that says nothing, as an absent one.
const names = () => defaulted(texts({ least: 0, commas: true }), []);
const values = () => defaulted(listOf(anything(), 0), []);

const NO_TOOLS = { allowedTypes: [], blockedTypes: [], allowedFunctionNames: [], blockedFunctionNames: [] };
const NO_PARAMS = { allowedKeys: [], blockedKeys: [], values: {} };

interface Limits<T> {
  readonly allowed: readonly T[];
  readonly blocked: readonly T[];
}

export const requestParametersCheck = defineCheck({
  id: 'default.requestParametersCheck',
  aliases: ['default.requestParameters', 'default.requestParams', 'default.requestParamsCheck'],
  events: ['input'],
  fields: {
    tools: defaulted(
      group({
        allowedTypes: names(),
        blockedTypes: names(),
        allowedFunctionNames: names(),
        blockedFunctionNames: names(),
      }),
      NO_TOOLS,
    ),
    params: defaulted(
      group({
        allowedKeys: names(),
        blockedKeys: names(),
        values: defaulted(mapOf(required(group({ allowedValues: values(), blockedValues: values() }))), {}),
      }),
      NO_PARAMS,
    ),
  },
  run({ traffic }, { tools, params }) {
    const { json } = traffic.request;
    const violations: string[] = [];
    const see = (what: string, value: unknown, limits: Limits<unknown>) => {
      if (outside(value, limits)) violations.push(`${what} ${JSON.stringify(value)}`.slice(0, 200));
    };
    for (const { type, name } of toolsOf(json)) {
      see('tool type', type, { allowed: tools.allowedTypes, blocked: tools.blockedTypes });
      if (name === undefined) continue;
      see('function', name, { allowed: tools.allowedFunctionNames, blocked: tools.blockedFunctionNames });
    }
    for (const key of Object.keys(json)) {
      see('parameter', key, { allowed: params.allowedKeys, blocked: params.blockedKeys });
    }
    for (const [key, { allowedValues, blockedValues }] of Object.entries(params.values)) {
      if (!Object.hasOwn(json, key)) continue;
      for (const value of Array.isArray(json[key]) ? json[key] : [json[key]]) {
        see(`value of ${key}`, value, { allowed: allowedValues, blocked: blockedValues });
      }
    }
    const verdict = violations.length === 0;
    return {
      verdict,
      data: {
        violations: violations.slice(0, 50),
        verdict,
        explanation: verdict ? 'All tools and parameters are allowed.' : `Not allowed: ${violations[0]}.`,
      },
    };
  },
});

/** Tools as the APIs declare them: `{type, function: {name}}`, `{type, name}`, or a name alone. */
function toolsOf(json: JsonObject): { readonly type: unknown; readonly name: unknown }[] {
  const tools = Array.isArray(json.tools) ? json.tools : [];
  const functions = Array.isArray(json.functions) ? json.functions : [];
  return [
    ...tools.filter(isObject).map((tool) => {
      const inner = isObject(tool.function) ? tool.function : isObject(tool.custom) ? tool.custom : tool;
      return { type: tool.type ?? 'function', name: inner.name };
    }),
    ...functions.filter(isObject).map(({ name }) => ({ type: 'function', name })),
  ];
}

function outside(value: unknown, { allowed, blocked }: Limits<unknown>): boolean {
  if (allowed.length === 0 && blocked.length === 0) return false;
  const text = JSON.stringify(value);
  const among = (list: readonly unknown[]) => list.some((one) => JSON.stringify(one) === text);
  return among(blocked) || (allowed.length > 0 && !among(allowed));
}
