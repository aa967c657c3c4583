// Guardrails in a config, read into hooks that can run. All faults are collected with their paths.
// Forms (data-plane facts, 5.1): `before_request_hooks`/`after_request_hooks` in full, `input_guardrails`,
// `output_guardrails`, `input_mutators`, `output_mutators` in short, each also in camel case.
import { isObject, snake, step } from './contract/parameters.ts';
import type { Guardrails, Hook, PathFault, Place, SavedGuardrail } from './hook.ts';
import { readHook } from './read-hook.ts';
import type { Event, JsonObject } from './view/traffic.ts';

export type { Feedback, Guardrails, Hook, HookCheck, OnError, PathFault, SavedGuardrail } from './hook.ts';

const place = (event: Event, type: Place['type'], short: boolean, name: string): Place => ({
  event,
  type,
  short,
  name,
});

const KEYS: Readonly<Record<string, Place>> = {
  default_input_guardrails: place('input', 'guardrail', true, 'default_input_guardrail'),
  default_output_guardrails: place('output', 'guardrail', true, 'default_output_guardrail'),
  input_mutators: place('input', 'mutator', true, 'input_mutator'),
  output_mutators: place('output', 'mutator', true, 'output_mutator'),
  before_request_hooks: place('input', 'guardrail', false, 'before_request_hook'),
  after_request_hooks: place('output', 'guardrail', false, 'after_request_hook'),
  input_guardrails: place('input', 'guardrail', true, 'input_guardrail'),
  output_guardrails: place('output', 'guardrail', true, 'output_guardrail'),
};

/** The keys of a config that this file reads, in snake case. */
export const GUARDRAIL_KEYS: readonly string[] = Object.keys(KEYS);

/** Hooks of one list at the most. */
const MOST_HOOKS = 20;

/** What all levels of one config may have together, inline and by name. */
export interface GuardrailLimits {
  hooks: number;
  /** Inline hooks; a stored guardrail's hooks are bounded when it is stored. */
  checks: number;
}

/** The limits of a config that is about to be read. */
export const guardrailLimits = (): GuardrailLimits => ({ hooks: 60, checks: 200 });

/** Takes so many off; notes once that they are more than a config may have. */
function take(
  limits: GuardrailLimits,
  name: keyof GuardrailLimits,
  many: number,
  path: string,
  faults: PathFault[],
): void {
  const before = limits[name];
  limits[name] -= many;
  if (before >= 0 && limits[name] < 0)
    faults.push({ path, message: `is more than the ${guardrailLimits()[name]} ${name} of a config` });
}

/**
 * Reads the hook and guardrail keys of a config; its other keys are not looked at.
 * @param value the config, or the part of it at `path` (empty for the root)
 * @param faults everything that is wrong is added, each with its path
 * @param limits what is left to the config; what this level has is taken off
 * @returns undefined when the config has no such key, or when anything was wrong
 */
export function parseGuardrails(
  value: unknown,
  path: string,
  faults: PathFault[],
  limits: GuardrailLimits = guardrailLimits(),
): Guardrails | undefined {
  if (!isObject(value)) return undefined;
  const before = faults.length;
  const hooks: Hook[] = [];
  const saved: SavedGuardrail[] = [];
  let present = false;
  const given = Map.groupBy(
    Object.keys(value).filter((name) => Object.hasOwn(KEYS, snake(name))),
    snake,
  );
  for (const [key, where] of Object.entries(KEYS)) {
    const spellings = given.get(key) ?? [];
    for (const [index, name] of spellings.entries()) {
      const at = step(path, name);
      if (index > 0) faults.push({ path: at, message: `says the same as ${spellings[0]}` });
      present = true;
      readList(value[name], at, where, hooks, saved, faults, limits);
    }
  }
  if (!present || faults.length > before) return undefined;
  return { ...parted(hooks), saved };
}

/** Reads the value of one key alone, e.g. a default of a workspace or a header's list. */
export function parseGuardrailList(
  value: unknown,
  event: Event,
  path: string,
  faults: PathFault[],
): Guardrails | undefined {
  const before = faults.length;
  const hooks: Hook[] = [];
  const saved: SavedGuardrail[] = [];
  readList(
    value,
    path,
    place(event, 'guardrail', true, `${event}_guardrail`),
    hooks,
    saved,
    faults,
    guardrailLimits(),
  );
  return faults.length > before ? undefined : { ...parted(hooks), saved };
}

/**
 * Reads a stored guardrail (`{checks, actions}` as the control plane stores it) into the hook that it defines.
 * @param mandatory whether every call passes it; see `Place`
 */
export function parseSavedGuardrail(
  value: unknown,
  id: string,
  event: Event,
  path: string,
  faults: PathFault[],
  mandatory = false,
): Hook | undefined {
  const before = faults.length;
  if (!isObject(value)) {
    faults.push({ path, message: 'must be an object' });
    return undefined;
  }
  const { checks, actions, version_id } = value;
  const { onFail, message: _, ...settings } = isObject(actions) ? actions : {};
  const flat: JsonObject = {
    ...settings,
    ...(isObject(onFail) ? { onFail } : {}),
    // An older form of actions is a single word.
    ...(onFail === 'block' ? { deny: true } : {}),
    id,
    checks,
    ...(version_id === undefined ? {} : { guardrail_version_id: version_id }),
  };
  const hook = readHook(flat, path, 0, { ...place(event, 'guardrail', false, id), mandatory }, faults);
  return faults.length > before ? undefined : hook;
}

/** Puts looked-up guardrails in the place of their names. Those not found stay in `saved`: the caller must refuse them. */
export function withSaved(
  guardrails: Guardrails,
  found: (saved: SavedGuardrail) => Hook | undefined,
): Guardrails {
  const hooks: Hook[] = [];
  const missing: SavedGuardrail[] = [];
  for (const saved of guardrails.saved) {
    const hook = found(saved);
    if (hook === undefined) missing.push(saved);
    else hooks.push(hook);
  }
  const more = parted(hooks);
  return {
    input: [...guardrails.input, ...more.input],
    output: [...guardrails.output, ...more.output],
    saved: missing,
  };
}

/** The hooks of an outer config and of a target in it: both apply, the outer ones first. */
export function joinGuardrails(
  outer: Guardrails | undefined,
  inner: Guardrails | undefined,
): Guardrails | undefined {
  if (outer === undefined || inner === undefined) return outer ?? inner;
  return {
    input: [...outer.input, ...inner.input],
    output: [...outer.output, ...inner.output],
    saved: [...outer.saved, ...inner.saved],
  };
}

function readList(
  value: unknown,
  path: string,
  where: Place,
  hooks: Hook[],
  saved: SavedGuardrail[],
  faults: PathFault[],
  limits: GuardrailLimits,
): void {
  if (!Array.isArray(value)) {
    faults.push({ path, message: 'must be a list' });
    return;
  }
  if (value.length > MOST_HOOKS) {
    faults.push({ path, message: `has at most ${MOST_HOOKS} items` });
    return;
  }
  for (const [index, item] of value.entries()) {
    const at = step(path, index);
    take(limits, 'hooks', 1, at, faults);
    if (limits.hooks < 0) return;
    if (where.short && typeof item === 'string') {
      if (item.trim() === '' || item.length > 200)
        faults.push({ path: at, message: 'must name a guardrail' });
      else saved.push({ id: item, event: where.event, path: at });
      continue;
    }
    const named = where.short ? undefined : nameOf(item);
    if (named !== undefined) {
      saved.push({ id: named, event: where.event, path: at });
      continue;
    }
    const hook = readHook(item, at, index, where, faults);
    if (hook === undefined) continue;
    take(limits, 'checks', hook.checks.length, at, faults);
    hooks.push(hook);
  }
}

/** The stored guardrail that a full hook was made from: it has an id and no checks of its own. */
function nameOf(item: unknown): string | undefined {
  if (!isObject(item) || typeof item.id !== 'string' || item.id.trim() === '' || item.id.length > 200)
    return undefined;
  const rest = Object.keys(item).filter((name) => name !== 'id' && name !== 'type');
  return rest.length === 0 && (item.type === undefined || item.type === 'guardrail') ? item.id : undefined;
}

function parted(hooks: readonly Hook[]): Pick<Guardrails, 'input' | 'output'> {
  return {
    input: hooks.filter(({ event }) => event === 'input'),
    output: hooks.filter(({ event }) => event === 'output'),
  };
}
