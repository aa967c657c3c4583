// An inline config of one target: x-gateway-config as a JSON object, in snake_case or
// camelCase. What it asks for and this gateway does not do is refused by name.
import { fail, type Violation } from '../../lib/errors.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';

/** A config's one target. Members that are absent were not said. */
export interface InlineConfig {
  readonly provider: string | undefined;
  readonly apiKey: string | undefined;
  readonly customHost: string | undefined;
  readonly requestTimeoutMs: number | undefined;
  readonly forwardHeaders: readonly string[] | undefined;
  readonly strict: boolean | undefined;
  /** Everything else, by snake_case name: options of the provider. */
  readonly options: Readonly<Record<string, string>>;
}

const SHORT_NAMES: Readonly<Record<string, string>> = {
  resource_name: 'azure_resource_name',
  deployment_id: 'azure_deployment_id',
  api_version: 'azure_api_version',
};
const EMPTY: InlineConfig = {
  provider: undefined,
  apiKey: undefined,
  customHost: undefined,
  requestTimeoutMs: undefined,
  forwardHeaders: undefined,
  strict: undefined,
  options: {},
};

/** Reads a config. @throws GatewayError config_invalid with every fault and its path. */
export function readInlineConfig(
  json: unknown,
  known: (id: string) => ProviderEntry | undefined,
): InlineConfig {
  const faults: Violation[] = [];
  const config = readLevel(json, '', faults, true);
  if (config.provider !== undefined && !config.provider.startsWith('@')) {
    const entry = known(config.provider);
    if (entry === undefined)
      faults.push({
        field: 'provider',
        rule: 'known',
        message: `is not a known provider: ${clip(config.provider)}`,
      });
    for (const name of Object.keys(config.options)) {
      if (entry && !entry.options?.includes(name))
        faults.push({ field: name, rule: 'unknown', message: `is not an option of ${entry.id}` });
    }
  }
  if (faults.length > 0) {
    const text = faults.map((fault) => `${fault.field}: ${fault.message}`).join('; ');
    throw fail('config_invalid', `invalid config: ${text}`, { param: faults[0]!.field, violations: faults });
  }
  return config;
}

function readLevel(json: unknown, path: string, faults: Violation[], root: boolean): InlineConfig {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    faults.push({ field: path || 'config', rule: 'type', message: 'must be an object' });
    return EMPTY;
  }
  let config: InlineConfig = EMPTY;
  const options: Record<string, string> = {};
  const fault = (name: string, message: string): void => {
    faults.push({ field: path === '' ? name : `${path}.${name}`, rule: 'config', message });
  };
  for (const [given, value] of Object.entries(json)) {
    const name = given.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    switch (name) {
      case 'provider':
      case 'api_key':
      case 'custom_host': {
        const key = name === 'api_key' ? 'apiKey' : name === 'custom_host' ? 'customHost' : 'provider';
        if (typeof value === 'string' && value !== '') config = { ...config, [key]: value };
        else fault(given, 'must be a string');
        break;
      }
      case 'request_timeout':
        if (Number.isInteger(value) && (value as number) > 0 && (value as number) <= 86_400_000)
          config = { ...config, requestTimeoutMs: value as number };
        else fault(given, 'must be a whole number of milliseconds, 1 to 86400000');
        break;
      case 'forward_headers':
        if (Array.isArray(value) && value.every((item) => typeof item === 'string'))
          config = { ...config, forwardHeaders: value };
        else fault(given, 'must be an array of strings');
        break;
      case 'strict_open_ai_compliance':
        if (typeof value === 'boolean') config = { ...config, strict: value };
        else fault(given, 'must be true or false');
        break;
      case 'name':
      case 'weight':
        break;
      case 'strategy':
        if (!isSingle(value)) fault(given, 'only the mode "single" is served');
        break;
      case 'targets':
        if (!root || !Array.isArray(value) || value.length !== 1)
          fault(given, 'must be an array of exactly one target');
        else config = merge(config, readLevel(value[0], `${given}[0]`, faults, false));
        break;
      default: {
        const option = SHORT_NAMES[name] ?? name;
        if (typeof value === 'string' && OPTION.test(option)) options[option] = value;
        else fault(given, 'is not served in a config');
      }
    }
  }
  return { ...config, options: { ...options, ...config.options } };
}

const OPTION = /^(azure|anthropic|openai)_[a-z_]{1,40}$/;

function merge(parent: InlineConfig, child: InlineConfig): InlineConfig {
  const said = Object.entries(child).filter(([, value]) => value !== undefined);
  return { ...parent, ...Object.fromEntries(said), options: { ...parent.options, ...child.options } };
}

function isSingle(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { mode?: unknown }).mode === 'single';
}

function clip(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
}
