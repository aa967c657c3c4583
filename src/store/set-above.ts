// What a higher level set in a document, kept in it: lower levels may tighten it, and neither loosen nor remove it.
import type { Json } from './collection.ts';

/** Higher ones first: owners, admins and keys of the organisation; admins, managers and service keys of a workspace. */
export type HigherLevel = 'organisation' | 'workspace';

export interface SetAbove {
  readonly level: HigherLevel;
  /** Who set it, in words: a person's address or a key's name. */
  readonly by: string;
  /** As it was set. */
  readonly value: Json;
}

/** By the request's field. */
export type AllSetAbove = Readonly<Record<string, SetAbove>>;

/** A document's body that remembers who set what. Absent in bodies of before there was this member. */
export interface Bounded {
  readonly setAbove?: AllSetAbove;
}
