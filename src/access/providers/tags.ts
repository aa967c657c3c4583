// Tags as one indexed text, so that a list is filtered by its index: each pair stands between two line feeds.
import type { Condition } from '../../store/documents.ts';
import type { Tagged } from './provider-collections.ts';

/** Control characters are in no tag. */
const BETWEEN = '\u001f';

type Tags = Readonly<Record<string, string>>;

/** The longest text of tags, bounded by what an index takes. */
export const MAX_TAG_TEXT = 1000;

/** The text; undefined without tags. */
export function tagText(tags: Tags): string | undefined {
  const pairs = Object.entries(tags).map(([name, value]) => `${name}${BETWEEN}${value}`);
  return pairs.length === 0 ? undefined : `\n${pairs.sort().join('\n')}\n`;
}

/** Conditions that find what carries all of the tags. */
export function tagConditions(tags: Tags): Condition[] {
  return Object.entries(tags).map(([name, value]) => ({
    field: 'tagText',
    op: 'contains',
    value: `\n${name}${BETWEEN}${value}\n`,
  }));
}

/** Whether a thing carries all of the tags. */
export function carries({ tags = {} }: Tagged, wanted: Tags): boolean {
  return Object.entries(wanted).every(([name, value]) => Object.hasOwn(tags, name) && tags[name] === value);
}
