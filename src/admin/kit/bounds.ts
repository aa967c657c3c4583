// A lower level may tighten a higher one's value, and neither loosen nor remove it. Three levels: the organisation (its
// owners, admins and keys), a workspace (its admins, managers and service keys), members.
import type { Directory } from '../../access/directory.ts';
import { governs, roleOf } from '../../access/roles.ts';
import type { Principal } from '../../call/principal.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { Json } from '../../store/collection.ts';
import type { AllSetAbove, Bounded, HigherLevel, SetAbove } from '../../store/set-above.ts';

export type Level = HigherLevel | 'member';

const RANK: Readonly<Record<Level, number>> = { organisation: 2, workspace: 1, member: 0 };
const WORDS: Readonly<Record<HigherLevel, string>> = {
  organisation: 'the organisation',
  workspace: "the workspace's admins",
};

/** A field that levels share. */
export interface BoundRule<Body> {
  /** As requests name it. */
  readonly field: string;
  readonly of: (body: Body) => Json | undefined;
  /**
   * Whether a value is as tight as the one that was set above.
   * @param at Unix milliseconds
   */
  readonly isAsTight: (given: Json | undefined, set: Json, at: number) => boolean;
}

export interface BoundsDeps {
  readonly directory: Directory;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The level that a caller writes on. */
export function levelOf(directory: Directory, caller: Principal): Level {
  if (governs(directory, caller)) return 'organisation';
  return roleOf(directory, caller) === 'member' ? 'member' : 'workspace';
}

/**
 * The body with who set what.
 * @param before undefined: it is new
 * @param earlier the level of values that are older than the record of levels
 * @throws GatewayError forbidden where a lower level loosens a higher one's value
 */
export function bounded<Body extends Bounded>(
  { directory, now }: BoundsDeps,
  caller: Principal,
  rules: readonly BoundRule<Body>[],
  before: Body | undefined,
  after: Body,
  earlier: HigherLevel = 'organisation',
): Body {
  const level = levelOf(directory, caller);
  const kept: Record<string, SetAbove> = {};
  for (const { field, of, isAsTight } of rules) {
    const [was, value] = [before && of(before), of(after)];
    const set = before && setAboveOf(before, field, was, earlier);
    const same = JSON.stringify(was) === JSON.stringify(value);
    if (set !== undefined && RANK[level] < RANK[set.level]) {
      if (!same && !isAsTight(value, set.value, now())) throw setByHigher(field, set);
      kept[field] = set;
    } else if (same && set !== undefined) kept[field] = set;
    else if (value !== undefined && level !== 'member')
      kept[field] = { level, by: nameOf(directory, caller), value };
  }
  return { ...after, setAbove: kept };
}

/**
 * The value of a field that a higher level than the caller's set; undefined: none.
 * @param was the field's value now
 */
export function setAboveCaller(
  directory: Directory,
  caller: Principal,
  body: Bounded,
  field: string,
  was: Json | undefined,
  earlier: HigherLevel = 'organisation',
): SetAbove | undefined {
  const set = setAboveOf(body, field, was, earlier);
  return set !== undefined && RANK[levelOf(directory, caller)] < RANK[set.level] ? set : undefined;
}

/** A lower level may not do this with a higher one's value. @param may what it may do */
export function setByHigher(
  field: string,
  { level, by }: SetAbove,
  may = 'you may tighten it, and neither loosen nor remove it',
): GatewayError {
  return fail('forbidden', `${field}: set by ${WORDS[level]} (${by}): ${may}`, { param: field });
}

function setAboveOf(
  { setAbove }: { readonly setAbove?: AllSetAbove },
  field: string,
  was: Json | undefined,
  earlier: HigherLevel,
): SetAbove | undefined {
  if (setAbove !== undefined) return setAbove[field];
  return was === undefined ? undefined : { level: earlier, by: 'before this was noted', value: was };
}

function nameOf(directory: Directory, { organisationId, userId, keyName }: Principal): string {
  if (userId === undefined) return `the key ${keyName}`;
  return directory.user(organisationId, userId)?.body.email ?? userId;
}
