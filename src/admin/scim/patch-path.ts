// Where an operation of a PATCH applies (RFC 7644, figure 7): `name.familyName`, `emails[type eq "work"].value`.
import { type Attribute, attributeNamed } from './attribute.ts';
import { type AttributePath, pathOf } from './attribute-path.ts';
import { type Filter, LONGEST_FILTER, parseFilter } from './filter.ts';
import { ScimError, wrong } from './scim-error.ts';

export interface PatchPath extends AttributePath {
  /** Which values of a list. */
  readonly filter?: Filter;
}

/** @param lenient names that no schema has are undefined, and no error. @throws ScimError invalidPath, invalidFilter */
export function readPatchPath(text: string, attributes: readonly Attribute[]): PatchPath;
export function readPatchPath(
  text: string,
  attributes: readonly Attribute[],
  lenient: true,
): PatchPath | undefined;
export function readPatchPath(
  text: string,
  attributes: readonly Attribute[],
  lenient = false,
): PatchPath | undefined {
  if (text.length > LONGEST_FILTER)
    throw wrong('invalidPath', `a path has at most ${LONGEST_FILTER} characters`);
  const open = text.indexOf('[');
  const path = open === -1 ? pathOf(text, attributes) : filtered(text, open, attributes);
  if (path === undefined && !lenient) throw unknown(text);
  return path;
}

function filtered(text: string, open: number, attributes: readonly Attribute[]): PatchPath {
  const close = text.lastIndexOf(']');
  const path = pathOf(text.slice(0, open), attributes);
  if (path === undefined || close < open) throw unknown(text);
  const { attribute } = path;
  if (path.sub !== undefined || !attribute.multiValued || attribute.subAttributes === undefined)
    throw wrong('invalidPath', `${attribute.name} has no values to choose from`);
  const rest = text.slice(close + 1);
  const sub = rest.startsWith('.') ? attributeNamed(attribute.subAttributes, rest.slice(1)) : undefined;
  if (rest !== '' && sub === undefined) throw unknown(text);
  const filter = filterOf(text.slice(open + 1, close), attribute.subAttributes);
  return { attribute, ...(sub === undefined ? {} : { sub }), filter };
}

function filterOf(text: string, attributes: readonly Attribute[]): Filter {
  try {
    return parseFilter(text, attributes);
  } catch (error) {
    throw error instanceof ScimError ? wrong('invalidPath', error.message) : error;
  }
}

function unknown(text: string): ScimError {
  return wrong('invalidPath', `${text.slice(0, 200)} is no attribute`);
}
