// Tags as callers write them, and lists narrowed by them.
import type { Tagged } from '../../access/providers/provider-collections.ts';
import { MAX_TAG_TEXT, tagText } from '../../access/providers/tags.ts';
import { invalidField } from '../../lib/errors.ts';

type Tags = Readonly<Record<string, string>>;

const MOST_WANTED = 16;

/** The tags of a thing; nothing without any. @throws GatewayError validation_failed when they are too long. */
export function tagged(tags: Tags | undefined): Tagged {
  const text = tags && tagText(tags);
  if (tags === undefined || text === undefined) return {};
  if (text.length > MAX_TAG_TEXT) throw invalidField('tags', 'must be 900 characters together at the most');
  return { tags, tagText: text };
}

/** The tags of a thing after an update. @throws GatewayError as `tagged`. */
export function changedTags(before: Tagged, given: Tags, cleared: boolean): Tagged {
  if (Object.keys(given).length > 0) return tagged(given);
  return cleared ? {} : tagged(before.tags);
}

/** The filter of a list: a JSON object of texts. @throws GatewayError validation_failed. */
export function wantedTags(text: string | undefined): Tags {
  if (text === undefined) return {};
  const wanted = parsed(text);
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted))
    throw invalidField('tags', 'must be a JSON object, e.g. {"team":"search"}');
  const pairs = Object.entries(wanted);
  if (pairs.length > MOST_WANTED) throw invalidField('tags', `must be ${MOST_WANTED} tags at the most`);
  for (const [name, value] of pairs)
    if (typeof value !== 'string') throw invalidField(`tags.${name.slice(0, 64)}`, 'must be a text', 'type');
  return wanted as Tags;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
