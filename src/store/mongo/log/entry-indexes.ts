// The indexes of a bucket of entries. All go on in the order of pages, so that nothing is sorted.
import type mongoose from 'mongoose';

/** Of organisation, time and id: also finds an entry that is sent again. */
export const KEY_INDEX = 'by_organisation';
export const ID_INDEX = 'by_id';

type Indexed = Readonly<Record<string, 1>>;
const IN_ORDER = { createdAt: 1, id: 1 } as const;

/** A member that every entry has. */
function by(name: string, member: string): mongoose.mongo.IndexDescription {
  return { name, key: { organisationId: 1, [member]: 1, ...IN_ORDER } as Indexed };
}

/** A member that not every entry has; a comparison, because from it the server sees that a look-up is in the index. */
function byOptional(name: string, member: string): mongoose.mongo.IndexDescription {
  return { ...by(name, member), partialFilterExpression: { [member]: { $gte: '' } } };
}

export const ENTRY_INDEXES: readonly mongoose.mongo.IndexDescription[] = [
  { name: KEY_INDEX, key: { organisationId: 1, ...IN_ORDER }, unique: true },
  { name: ID_INDEX, key: { organisationId: 1, id: 1 } },
  by('by_workspace', 'workspaceId'),
  by('by_status', 'statusCode'),
  by('by_trace', 'traceId'),
  by('by_provider', 'provider'),
  by('by_model', 'model'),
  by('by_key', 'apiKeyId'),
  by('by_metadata', 'metadata'),
  byOptional('by_span', 'spanId'),
  byOptional('by_user', 'userId'),
  byOptional('by_virtual_key', 'virtualKey'),
  byOptional('by_config', 'config'),
  byOptional('by_prompt', 'prompt'),
  byOptional('by_cache', 'cacheStatus'),
  byOptional('by_error', 'errorReason'),
];

/** Records of a time and an id, found by nothing else. */
export const BODY_INDEXES: readonly mongoose.mongo.IndexDescription[] = [
  { name: KEY_INDEX, key: { organisationId: 1, ...IN_ORDER }, unique: true },
];
