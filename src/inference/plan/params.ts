// What a config does to a request's members: defaults, overrides, and what is taken out, in this order.
import { pathOf } from './condition.ts';
import { isObject } from './faults.ts';

/** Changes to a request. */
export interface ParamRules {
  readonly defaults: Readonly<Record<string, unknown>>;
  readonly overrides: Readonly<Record<string, unknown>>;
  /** Paths, split: `messages[*].name` is messages, *, name. */
  readonly drops: readonly (readonly string[])[];
}

/** What one level of a config says of parameters, below what is inherited; undefined when no level says anything. */
export function joinParams(
  parent: ParamRules | undefined,
  defaults: Readonly<Record<string, unknown>> | undefined,
  overrides: Readonly<Record<string, unknown>> | undefined,
  drops: readonly string[],
): ParamRules | undefined {
  if (defaults === undefined && overrides === undefined && drops.length === 0) return parent;
  return {
    defaults: { ...parent?.defaults, ...defaults },
    overrides: { ...parent?.overrides, ...overrides },
    drops: [...(parent?.drops ?? []), ...drops.map(pathOf)],
  };
}

/** The request with the rules applied; the one that was given stays as it is. */
export function applyParams(rules: ParamRules, request: object): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  put(json, request);
  for (const [name, value] of Object.entries(rules.defaults)) {
    if (!Object.hasOwn(json, name)) define(json, name, value);
  }
  put(json, rules.overrides);
  if (rules.drops.length === 0) return json;
  const copy = structuredClone(json);
  for (const path of rules.drops) drop(copy, path);
  return copy;
}

function put(target: Record<string, unknown>, members: object): void {
  for (const [name, value] of Object.entries(members)) define(target, name, value);
}

/** Defined, not assigned: a member named __proto__ stays a member. */
function define(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  else target[name] = value;
}

function drop(value: unknown, path: readonly string[]): void {
  const [name, ...rest] = path;
  if (name === undefined) return;
  if (name === '*' && Array.isArray(value)) {
    if (rest.length === 0) value.length = 0;
    else for (const element of value) drop(element, rest);
    return;
  }
  if (Array.isArray(value)) {
    const index = /^\d{1,9}$/.test(name) ? Number(name) : value.length;
    if (index >= value.length) return;
    if (rest.length === 0) value.splice(index, 1);
    else drop(value[index], rest);
    return;
  }
  if (!isObject(value) || !Object.hasOwn(value, name)) return;
  if (rest.length === 0) delete (value as Record<string, unknown>)[name];
  else drop(value[name], rest);
}
