// Headers -> plan: exactly one way of selecting the provider (specification,
// "Provider authentication"), with everything the call needs folded in.
import { fail, invalidHeader } from '../../lib/errors.ts';
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import type { ProviderEntry, ProviderOptions, Target } from '../../providers/dialect.ts';
import { type InlineConfig, readInlineConfig } from './inline-config.ts';
import {
  canonical,
  checkForwardNames,
  forwardedHeaders,
  ownKeyCheck,
  parseHeaderJson,
  readForwardNames,
  readMetadata,
} from './request-settings.ts';

/** How a call is routed. One variant now; strategies are further ones. */
export interface Plan {
  readonly kind: 'target';
  readonly target: Target;
  /** What the config says; the caller's header, which the call keeps anyway, beats it. */
  readonly timeoutMs: number | undefined;
  /** Flat pairs of the caller's headers that go on to the provider. */
  readonly forwarded: readonly string[];
}

/** What planning reads of a call, and what it notes on it. */
export interface PlannedCall {
  readonly headers: GatewayHeaders;
  readonly presentedKey: string | undefined;
  readonly providerCredential: string | undefined;
  readonly trail: { provider: string; metadata: Readonly<Record<string, string>> };
}

/** What planning needs to know of the gateway. */
export interface PlanFacts {
  readonly providerById: (id: string) => ProviderEntry | undefined;
  /** Refuses addresses that may never be called. @throws GatewayError host_refused. */
  readonly checkHost: (url: string, param: string) => void;
  /** Whether a text is a key of this gateway: such a text is never sent out. */
  readonly isOwnKey: (text: string) => boolean;
}

/** Reads the plan off the call's headers. @throws GatewayError of status 400 naming the header at fault. */
export function planOf(call: PlannedCall, facts: PlanFacts): Plan {
  const { headers } = call;
  call.trail.metadata = readMetadata(headers);
  const names = readForwardNames(headers);
  const selection = select(headers, facts);
  const { config, entry } = selection;
  call.trail.provider = entry.id;

  const customHost = config?.customHost ?? selection.customHost;
  if (customHost !== undefined) {
    facts.checkHost(
      customHost,
      selection.customHost === undefined ? 'custom_host' : canonical(headers, 'custom-host'),
    );
  }
  const apiKey = config?.apiKey ?? call.providerCredential;
  if (apiKey === undefined && !entry.keyless && customHost === undefined) {
    throw invalidHeader('authorization', `${entry.id} needs a credential: Authorization: Bearer <key>`);
  }
  if (config?.apiKey !== undefined && facts.isOwnKey(config.apiKey)) {
    throw fail('config_invalid', "api_key: a key of this gateway is no provider's credential", {
      param: 'api_key',
    });
  }
  const allNames = [...names, ...checkForwardNames(config?.forwardHeaders ?? [], headers, 'forward_headers')];
  return {
    kind: 'target',
    target: {
      provider: entry,
      apiKey,
      options:
        config === undefined
          ? optionsOf(entry, headers)
          : { ...optionsOf(entry, headers), ...config.options },
      customHost,
      strict: config?.strict ?? headers.get('strict-open-ai-compliance') !== 'false',
    },
    timeoutMs: config?.requestTimeoutMs,
    forwarded:
      allNames.length === 0
        ? []
        : forwardedHeaders(allNames, headers, ownKeyCheck(call.presentedKey, facts.isOwnKey)),
  };
}

interface Selection {
  readonly entry: ProviderEntry;
  readonly config: InlineConfig | undefined;
  readonly customHost: string | undefined;
}

function select(headers: GatewayHeaders, facts: PlanFacts): Selection {
  const provider = headers.get('provider');
  const virtualKey = headers.get('virtual-key');
  const configText = headers.get('config');
  const customHost = headers.get('custom-host');
  const name = (bare: string): string => canonical(headers, bare);
  const conflict = (a: string, b: string): Error =>
    fail('selection_conflict', `${name(a)} and ${name(b)} select different providers; send one of them`, {
      param: name(a),
    });

  if (virtualKey !== undefined) {
    if (configText !== undefined) throw conflict('virtual-key', 'config');
    if (customHost !== undefined) throw conflict('virtual-key', 'custom-host');
    if (provider !== undefined && provider !== `@${virtualKey}` && provider !== virtualKey)
      throw conflict('virtual-key', 'provider');
    throw fail('provider_unknown', `there is no stored provider ${clip(virtualKey)}`, {
      param: name('virtual-key'),
    });
  }
  const config = configText === undefined ? undefined : readConfigHeader(configText, name('config'), facts);
  if (config?.provider !== undefined) {
    if (provider !== undefined && provider !== config.provider) throw conflict('config', 'provider');
    if (customHost !== undefined) throw conflict('config', 'custom-host');
  }
  if (config?.customHost !== undefined && customHost !== undefined) throw conflict('config', 'custom-host');

  const id = config?.provider ?? provider;
  const where = config?.provider === undefined ? name('provider') : 'provider';
  if (id === undefined || id === '') {
    throw fail(
      'provider_missing',
      `no provider is selected: send ${name('provider')} with a credential, ${name('config')}, or ${name('custom-host')} with ${name('provider')}`,
      { param: name('provider') },
    );
  }
  if (id.startsWith('@')) {
    if (customHost !== undefined) throw conflict('provider', 'custom-host');
    throw fail('provider_unknown', `there is no stored provider ${clip(id.slice(1))}`, { param: where });
  }
  const entry = facts.providerById(id);
  if (entry === undefined)
    throw fail('provider_unknown', `the provider is not known: ${clip(id)}`, { param: where });
  return { entry, config, customHost };
}

function readConfigHeader(text: string, name: string, facts: PlanFacts): InlineConfig {
  if (!text.trimStart().startsWith('{')) {
    if (/^[A-Za-z0-9_-]{1,64}$/.test(text))
      throw fail('config_invalid', `there is no saved config ${text}`, { param: name });
    throw invalidHeader(name, 'must be a JSON object or the id of a saved config');
  }
  return readInlineConfig(parseHeaderJson(name, text), facts.providerById);
}

interface OptionHeader {
  readonly option: string;
  readonly header: string;
}

const NO_OPTIONS: ProviderOptions = Object.freeze({});
const optionHeaders = new WeakMap<ProviderEntry, readonly OptionHeader[]>();

/** The provider's options that headers set: `azure_api_version` is x-gateway-azure-api-version. */
function optionsOf(entry: ProviderEntry, headers: GatewayHeaders): ProviderOptions {
  let known = optionHeaders.get(entry);
  if (known === undefined) {
    known = (entry.options ?? []).map((option) => ({ option, header: option.replaceAll('_', '-') }));
    optionHeaders.set(entry, known);
  }
  let options: Record<string, string> | undefined;
  for (const { option, header } of known) {
    const value = headers.get(header) ?? headers.plain(header);
    if (value === undefined) continue;
    options ??= {};
    options[option] = value;
  }
  return options ?? NO_OPTIONS;
}

function clip(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
}
