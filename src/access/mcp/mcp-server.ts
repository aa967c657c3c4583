// A server as a call sees it: its record, its integration's and what is known of the upstream, in one.
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { isOn, type SwitchMap, switchMap } from './capability-switches.ts';
import { allowsUser, isShared } from './mcp-access.ts';
import type {
  CapabilityType,
  McpCatalogueBody,
  McpGuardrails,
  McpIntegrationBody,
  McpOpenApiBody,
  McpRules,
  McpServerBody,
  McpServerInfo,
  StoredCapability,
} from './mcp-collections.ts';
import type { SeenTools } from './seen-tools.ts';

/** The documents that a server is made of. */
export interface McpServerParts {
  readonly server: Document<McpServerBody>;
  readonly integration: Document<McpIntegrationBody>;
  readonly catalogue: Document<McpCatalogueBody> | undefined;
  readonly openApi: Document<McpOpenApiBody> | undefined;
  /** Tools of its integration that were seen otherwise than they are stored; absent: they are not compared. */
  readonly seen?: SeenTools;
}

/** A description that was seen, and the one that was accepted. */
export type Pin = Pick<StoredCapability, 'hash' | 'pinned'>;

/**
 * A server of a workspace. It is a value of one moment: the replica makes a new one when one of its documents changed,
 * so that `===` tells whether something did.
 */
export class McpServer {
  readonly #parts: McpServerParts;
  readonly #own: SwitchMap;
  readonly #upstream: SwitchMap;
  #tools: ReadonlyMap<string, StoredCapability> | undefined;
  #gone: ReadonlyMap<string, string> | undefined;
  #names: ReadonlyMap<string, string> | undefined;

  constructor(parts: McpServerParts) {
    this.#parts = parts;
    this.#own = switchMap(parts.server.body.switches);
    this.#upstream = switchMap(parts.integration.body.switches);
  }

  get id(): string {
    return this.#parts.server.id;
  }
  get slug(): string {
    return this.#parts.server.slug ?? '';
  }
  get name(): string {
    return this.#parts.server.body.name;
  }
  get description(): string | undefined {
    return this.#parts.server.body.description;
  }
  get organisationId(): string {
    return this.#parts.server.organisationId;
  }
  get workspaceId(): string {
    return this.#parts.server.workspaceId ?? '';
  }
  /** Its integration. `id` and `version` name one way to the upstream: a pooled connection of another version is not used. */
  get integration(): Document<McpIntegrationBody> {
    return this.#parts.integration;
  }
  /** Of transport `openapi` only: what its tools call. */
  get openApi(): Document<McpOpenApiBody> | undefined {
    return this.#parts.openApi;
  }
  /** The server information that the upstream reported at the last sync. */
  get info(): McpServerInfo {
    return this.#parts.catalogue?.body.info ?? {};
  }
  /** What is known of the upstream's capabilities, in its order; empty before the first sync. */
  get capabilities(): readonly StoredCapability[] {
    return this.#parts.catalogue?.body.capabilities ?? [];
  }
  /** Whether its integration is still there for its workspace. */
  get isUsable(): boolean {
    return isShared(this.#parts.integration, this.workspaceId);
  }
  /** Whether a tool whose description changed is held back until it is accepted. */
  get holdsChanged(): boolean {
    return this.#parts.integration.body.holdChangedTools === true;
  }

  /** What decides which capabilities of a type are shown, as one text: it differs where the list does. */
  listKey(type: CapabilityType): string {
    const { integration, server } = this.#parts;
    const off = [...(integration.body.switches ?? []), ...(server.body.switches ?? [])]
      .filter((one) => one.type === type && !one.enabled)
      .map(({ name }) => name)
      .sort();
    const isDocument = integration.body.transport === 'openapi';
    const told = this.capabilities.flatMap(({ type: of, name, hash, pinned }) => {
      if (of !== type) return [];
      if (isDocument) return [`${name} ${hash}`];
      return this.holdsChanged && hash !== pinned ? [name] : [];
    });
    return JSON.stringify([off, told]);
  }

  /** @param userId undefined: a service key, which is no user */
  allowsUser(userId: string | undefined): boolean {
    return allowsUser(this.#parts.server.body, userId);
  }

  /**
   * Whether a capability is offered. A resource may be named by its URI, and is off when its name is, too.
   * @param name the name, or the URI of a resource, or the URI template
   * @param other the second name of a resource or template where it is known, e.g. from the upstream's list
   */
  isEnabled(type: CapabilityType, name: string, other?: string): boolean {
    const known = type === 'resource' || type === 'resource_template' ? this.#nameOf(type, name) : undefined;
    const names = [name, ...(other === undefined ? [] : [other]), ...(known === undefined ? [] : [known])];
    return isOn(this.#upstream, type, names) && isOn(this.#own, type, names);
  }

  /** A tool's description that was accepted and the newest one; undefined for what was never seen. */
  pinOf(tool: string): Pin | undefined {
    const { stored, gone } = this.#known(tool);
    const pinned = stored?.pinned ?? gone;
    if (pinned === undefined) return undefined;
    return { pinned, hash: this.#parts.seen?.get(tool)?.hash ?? stored?.hash ?? pinned };
  }

  /** Takes note of a tool as the server lists it now: a description that changed is marked. */
  saw(tool: string, item: JsonObject): void {
    this.#parts.seen?.saw(tool, item, this.#known(tool));
  }

  #known(tool: string): { stored: StoredCapability | undefined; gone: string | undefined } {
    const { catalogue } = this.#parts;
    this.#tools ??= new Map(
      this.capabilities.flatMap((one) => (one.type === 'tool' ? [[one.name, one]] : [])),
    );
    this.#gone ??= new Map(catalogue?.body.gone?.map(({ name, pinned }) => [name, pinned]));
    return { stored: this.#tools.get(tool), gone: this.#gone.get(tool) };
  }

  /** The guardrails of a tool's calls: those of the integration and the server, for all tools and for this one. */
  guardrailsOf(tool: string): Required<McpGuardrails> {
    const all = this.#rules().flatMap(({ guardrails }) =>
      guardrails === undefined
        ? []
        : [guardrails, ...(guardrails.tools ?? []).filter((one) => one.tool === tool)],
    );
    const of = (side: 'input' | 'output') => [...new Set(all.flatMap((one) => one[side] ?? []))];
    return { input: of('input'), output: of('output') };
  }

  /** Whether guardrails check results of any tool. */
  get checksResults(): boolean {
    return this.#rules().some(
      ({ guardrails: { output = [], tools = [] } = {} }) =>
        output.length > 0 || tools.some((one) => (one.output ?? []).length > 0),
    );
  }

  /** US dollars for a call of a tool; undefined: it has no price. The server's own price wins. */
  priceOf(tool: string): number | undefined {
    const [integration, server] = this.#rules();
    for (const { toolPrices = [] } of [server ?? {}, integration ?? {}]) {
      const own = toolPrices.find((one) => one.tool === tool) ?? toolPrices.find((one) => one.tool === '*');
      if (own !== undefined) return own.price;
    }
    return undefined;
  }

  #rules(): readonly McpRules[] {
    return [this.#parts.integration.body.rules ?? {}, this.#parts.server.body.rules ?? {}];
  }

  /** The name of a URI or of a URI template. */
  #nameOf(type: CapabilityType, uri: string): string | undefined {
    this.#names ??= new Map(
      this.capabilities.flatMap(({ type: of, name, described }) => {
        const address = of === 'resource' ? described.uri : described.uriTemplate;
        return typeof address === 'string' ? [[`${of} ${address}`, name]] : [];
      }),
    );
    return this.#names.get(`${type} ${uri}`);
  }
}
