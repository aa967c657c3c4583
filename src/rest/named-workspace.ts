// Every operation of the control plane takes `workspace_id`: the workspace, by id or slug, that the caller means. Where the
// operation's message has no such field, it is taken out of the query or the body here, before the message is read.
import { type DescMethod, hasOption } from '@bufbuild/protobuf';
import { access, in_workspace, KeyKind, Plane, plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { http } from '../../gen/google/api/annotations_pb.ts';
import { optionOf } from '../lib/contract-options.ts';
import { invalidField } from '../lib/errors.ts';
import { parsePathTemplate } from './path-template.ts';

export const WORKSPACE_FIELD = 'workspace_id';
const SLUG_FIELD = 'workspace_slug';
const MAX_LENGTH = 255;
const QUERY_NAMES = [WORKSPACE_FIELD, 'workspaceId'];

/**
 * What naming a workspace means to an operation:
 * - `resource`: the resource in the path must be of that workspace, else the answer is that of an unknown id
 * - `organisation`: nothing, but the workspace must be one that exists
 * - `field`: what the message's own field workspace_id says
 * - `slug`: the same as the message's field workspace_slug
 * - `inference`: the same on the data plane, where an organisation key must name one
 * - `caller`: the operation is called as a key of that workspace would
 */
export type WorkspaceUse = 'resource' | 'organisation' | 'field' | 'slug' | 'caller' | 'inference';

/** Undefined for operations of the data plane, but those that organisation keys may call. */
export function workspaceUseOf(method: DescMethod): WorkspaceUse | undefined {
  if (optionOf(method, in_workspace)) return 'inference';
  if (optionOf(method.parent, plane) !== Plane.CONTROL) return undefined;
  const inPath = pathFieldsOf(method);
  if (inPath.includes(WORKSPACE_FIELD)) return 'resource';
  const { kinds, authenticated } = optionOf(method, access);
  // What is about the caller alone is of the organisation.
  if (authenticated) return 'organisation';
  const ofOrganisation = kinds.length > 0 && kinds.every((kind) => kind === KeyKind.ORGANISATION_SERVICE);
  if (ofOrganisation) return has(method, WORKSPACE_FIELD) ? 'field' : 'organisation';
  if (inPath.some((name) => /(^|_)(id|slug)$/.test(name))) return 'resource';
  if (has(method, WORKSPACE_FIELD)) return 'field';
  return has(method, SLUG_FIELD) ? 'slug' : 'caller';
}

/** Whether `workspace_id` of a query or body is not the message's own member. */
export function isWorkspaceAside(method: DescMethod): boolean {
  const known = asides.get(method);
  if (known !== undefined) return known;
  const aside = readsAside(method);
  asides.set(method, aside);
  return aside;
}

// Asked of every call of the control plane; the options and the path are decoded anew each time they are read.
const asides = new WeakMap<DescMethod, boolean>();

function readsAside(method: DescMethod): boolean {
  return !has(method, WORKSPACE_FIELD) || pathFieldsOf(method).includes(WORKSPACE_FIELD);
}

/** Whether an operation takes `workspace_id` in addition to its message and path; the OpenAPI document shows it then. */
export function takesWorkspace(method: DescMethod): boolean {
  return (
    workspaceUseOf(method) !== undefined && !has(method, WORKSPACE_FIELD) && !optionOf(method, access).open
  );
}

/** A request's query and body without the workspace that they name. */
export interface TakenWorkspace {
  readonly query: string;
  readonly json: unknown;
  /** Undefined: none is named, or the message has a field for it. */
  readonly workspace: string | undefined;
}

/** @param json the body, undefined where there is none. @throws GatewayError validation_failed */
export function takeWorkspace(method: DescMethod, query: string, json: unknown): TakenWorkspace {
  if (!isWorkspaceAside(method)) return { query, json, workspace: undefined };
  const asked = takenFromQuery(query);
  const taken = takenFromBody(json);
  if (asked.workspace !== undefined && taken.workspace !== undefined && asked.workspace !== taken.workspace)
    throw invalidField(WORKSPACE_FIELD, 'must be the same in the query and in the body');
  return { query: asked.query, json: taken.json, workspace: taken.workspace ?? asked.workspace };
}

function takenFromQuery(query: string): { readonly query: string; readonly workspace: string | undefined } {
  if (!/workspace/i.test(query) && !query.includes('%')) return { query, workspace: undefined };
  const parameters = new URLSearchParams(query);
  const values = QUERY_NAMES.flatMap((name) => parameters.getAll(name));
  if (values.length === 0) return { query, workspace: undefined };
  if (values.length > 1) throw invalidField(WORKSPACE_FIELD, 'must be given once', 'repeated');
  for (const name of QUERY_NAMES) parameters.delete(name);
  return { query: parameters.toString(), workspace: checked(values[0]) };
}

function takenFromBody(json: unknown): { readonly json: unknown; readonly workspace: string | undefined } {
  if (
    typeof json !== 'object' ||
    json === null ||
    Array.isArray(json) ||
    !Object.hasOwn(json, WORKSPACE_FIELD)
  )
    return { json, workspace: undefined };
  const { [WORKSPACE_FIELD]: value, ...others } = json as Record<string, unknown>;
  return { json: others, workspace: checked(value) };
}

/** The name of a workspace; undefined for an empty value. @throws GatewayError validation_failed */
export function checked(value: unknown): string | undefined {
  if (value === null || value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw invalidField(WORKSPACE_FIELD, 'must be a string', 'type');
  if (value.length > MAX_LENGTH)
    throw invalidField(WORKSPACE_FIELD, `must be at most ${MAX_LENGTH} characters`, 'string.max_len');
  return value;
}

function has(method: DescMethod, name: string): boolean {
  return method.input.fields.some((field) => field.name === name);
}

function pathFieldsOf(method: DescMethod): readonly string[] {
  if (!hasOption(method, http)) return [];
  const { value } = optionOf(method, http).pattern;
  return typeof value === 'string' ? parsePathTemplate(value).fields : [];
}
