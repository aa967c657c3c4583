// Which attributes an answer has (RFC 7644, part 3.9): those that are asked for, or all but some.
import type { Json, JsonObject } from '../../store/collection.ts';
import type { Attribute } from './attribute.ts';
import { type AttributePath, pathOf } from './attribute-path.ts';
import { isObject } from './filter-match.ts';
import { wrong } from './scim-error.ts';

export interface Projection {
  readonly only: readonly AttributePath[] | undefined;
  readonly without: readonly AttributePath[];
}

const MOST_NAMES = 200;

/** @throws ScimError invalidValue when both are given */
export function readProjection(
  only: string | undefined,
  without: string | undefined,
  attributes: readonly Attribute[],
): Projection {
  if (only !== undefined && without !== undefined)
    throw wrong('invalidValue', 'attributes and excludedAttributes do not go together');
  const paths = (text: string) =>
    text
      .split(',', MOST_NAMES)
      .map((name) => pathOf(name.trim(), attributes))
      .filter((path) => path !== undefined);
  return {
    only: only === undefined ? undefined : paths(only),
    without: without === undefined ? [] : paths(without),
  };
}

/** The part of a resource that an answer has. */
export function projected(
  resource: JsonObject,
  { only, without }: Projection,
  attributes: readonly Attribute[],
): JsonObject {
  if (only === undefined && without.length === 0) return resource;
  const shown: Record<string, Json> = {};
  for (const [name, value] of Object.entries(resource)) {
    const isAlways = attributes.some((one) => one.name === name && one.returned === 'always');
    const kept = isAlways
      ? value
      : only === undefined
        ? excluded(name, value, without)
        : included(name, value, only);
    if (kept !== undefined) shown[name] = kept;
  }
  return shown;
}

function included(name: string, value: Json, paths: readonly AttributePath[]): Json | undefined {
  const asked = paths.filter(({ attribute }) => attribute.name === name);
  if (asked.length === 0) return undefined;
  if (asked.some(({ sub }) => sub === undefined)) return value;
  const names = new Set(asked.map(({ sub }) => sub?.name));
  return parts(value, (part) => names.has(part));
}

function excluded(name: string, value: Json, paths: readonly AttributePath[]): Json | undefined {
  const asked = paths.filter(({ attribute }) => attribute.name === name);
  if (asked.some(({ sub }) => sub === undefined)) return undefined;
  if (asked.length === 0) return value;
  const names = new Set(asked.map(({ sub }) => sub?.name));
  return parts(value, (part) => !names.has(part));
}

function parts(value: Json, keeps: (name: string) => boolean): Json {
  if (Array.isArray(value)) return value.map((one) => parts(one, keeps));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => keeps(name)));
}
