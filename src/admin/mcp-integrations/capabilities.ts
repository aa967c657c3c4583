// Capabilities as lists show them, and their switches.
import { create } from '@bufbuild/protobuf';
import {
  type McpCapability,
  McpCapabilityCountsSchema,
  type McpCapabilityList,
  McpCapabilityListSchema,
  McpCapabilitySchema,
  type McpCapabilitySwitch,
} from '../../../gen/gateway/admin/v2/mcp_capabilities_pb.ts';
import { isOn, type SwitchMap, switchOf } from '../../access/mcp/capability-switches.ts';
import type {
  CapabilitySwitch,
  CapabilityType,
  McpCatalogueBody,
  StoredCapability,
} from '../../access/mcp/mcp-collections.ts';
import { invalidField } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import { timeText } from '../kit/time.ts';

const MOST_SWITCHES = 2000;
const DEFAULT_PAGE_SIZE = 100;

/** Which page of them: `page` from 1, `currentPage` from 0. */
export interface CapabilityPage {
  readonly page?: number | undefined;
  readonly currentPage?: number | undefined;
  readonly pageSize?: number | undefined;
}

/** A page of anything that is in memory. */
export function paged<T>(
  all: readonly T[],
  { page, currentPage, pageSize = DEFAULT_PAGE_SIZE }: CapabilityPage,
) {
  const start = (page === undefined ? (currentPage ?? 0) : page - 1) * pageSize;
  return {
    data: all.slice(start, start + pageSize),
    total: BigInt(all.length),
    hasMore: start + pageSize < all.length,
  };
}

/** The switches that count for a list. */
export interface ListSwitches {
  readonly own: SwitchMap;
  /** Those of the integration, for a server. */
  readonly integration?: SwitchMap;
}

/** A page of an integration's or a server's capabilities. */
export function capabilityList(
  { capabilities }: Pick<McpCatalogueBody, 'capabilities'>,
  { own, integration }: ListSwitches,
  request: CapabilityPage & { readonly type?: string | undefined },
): McpCapabilityList {
  const isEnabled = (one: StoredCapability): boolean =>
    isOn(own, one.type, namesOf(one)) &&
    (integration === undefined || isOn(integration, one.type, namesOf(one)));
  const wanted =
    request.type === undefined ? capabilities : capabilities.filter(({ type }) => type === request.type);
  const { data, total, hasMore } = paged(wanted, request);
  const count = (type: CapabilityType) => {
    const all = capabilities.filter((one) => one.type === type);
    return { total: all.length, enabled: all.filter(isEnabled).length };
  };
  return create(McpCapabilityListSchema, {
    object: 'list',
    data: data.map((one) => shown(one, own, integration)),
    counts: create(McpCapabilityCountsSchema, {
      tools: count('tool'),
      prompts: count('prompt'),
      resources: count('resource'),
      resourceTemplates: count('resource_template'),
    }),
    total,
    hasMore,
  });
}

/**
 * The switches after a change; those that are not named stay.
 * @param at Unix milliseconds
 * @throws GatewayError validation_failed for one named twice, and for too many
 */
export function switched(
  before: readonly CapabilitySwitch[] | undefined,
  changes: readonly McpCapabilitySwitch[],
  at: number,
): readonly CapabilitySwitch[] {
  const named = new Map<string, CapabilitySwitch>();
  for (const [i, { type, name, enabled = false }] of changes.entries()) {
    const key = `${type} ${name}`;
    if (named.has(key)) throw invalidField(`capabilities[${i}].name`, 'is named twice');
    named.set(key, { type: type as CapabilityType, name, enabled, updatedAt: at });
  }
  const kept = (before ?? []).filter(({ type, name }) => !named.has(`${type} ${name}`));
  const all = [...kept, ...named.values()];
  if (all.length > MOST_SWITCHES)
    throw invalidField(
      'capabilities',
      `must be ${MOST_SWITCHES} switches at the most, with those that are set`,
    );
  return all;
}

/** Whether a change means a capability: by its name or its URI. */
export function means({ type, name }: McpCapabilitySwitch, one: StoredCapability): boolean {
  return one.type === type && namesOf(one).includes(name);
}

/** What the audit log shows of switches. */
export function shownSwitches(switches: readonly CapabilitySwitch[] | undefined): JsonObject {
  return Object.fromEntries((switches ?? []).map(({ type, name, enabled }) => [`${type} ${name}`, enabled]));
}

function namesOf({ name, described: { uri, uriTemplate } }: StoredCapability): readonly string[] {
  return [name, uri, uriTemplate].filter((one) => typeof one === 'string');
}

function shown(one: StoredCapability, own: SwitchMap, integration: SwitchMap | undefined): McpCapability {
  const { type, name, described, hash, pinned, createdAt, updatedAt, changedAt } = one;
  const switchedAt = namesOf(one).map((each) => switchOf(own, type, each)?.updatedAt ?? 0);
  const text = (member: string): string | undefined =>
    typeof described[member] === 'string' ? (described[member] as string) : undefined;
  const struct = (member: string) => described[member] as Record<string, never> | undefined;
  const list = (member: string) => (described[member] ?? []) as unknown as Record<string, never>[];
  const optional = {
    title: text('title'),
    description: text('description'),
    inputSchema: struct('inputSchema'),
    outputSchema: struct('outputSchema'),
    execution: struct('execution'),
    annotations: struct('annotations'),
    uri: text('uri'),
    uriTemplate: text('uriTemplate'),
    mimeType: text('mimeType'),
    size: typeof described.size === 'number' ? described.size : undefined,
    changedAt: changedAt === undefined ? undefined : timeText(changedAt),
    integrationEnabled: integration && isOn(integration, type, namesOf(one)),
  };
  return create(McpCapabilitySchema, {
    name,
    type,
    icons: list('icons'),
    arguments: list('arguments'),
    enabled: isOn(own, type, namesOf(one)),
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(Math.max(updatedAt, ...switchedAt)),
    changed: hash !== pinned,
    ...(Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)) as object),
  });
}
