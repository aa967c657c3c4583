// What an option of a provider is: everything that headers, configs, stored providers and documents need to know of it.
import type { OperationName } from '../operations.ts';

/**
 * `flag`: true or false. `object`: a JSON object, sent on as its text. `host`: a base address. `headers`: headers of
 * every request. `deployments`: models by what serves them (see `deployment`).
 */
export type OptionType = 'text' | 'flag' | 'object' | 'host' | 'headers' | 'deployments';

/**
 * What an option decides: the address of a call, its account, its model, or none of these. A config may add options to
 * a stored provider only when they change neither its address nor its account.
 */
export type OptionEffect = 'address' | 'account' | 'model' | 'none';

/** Where an option may come from: a request header, a config, an integration or a virtual key. */
export type OptionSource = 'header' | 'config' | 'stored';

/** The three groups of headers that the specification names for clouds. */
export type HeaderGroup = 'azure' | 'vertex' | 'bedrock';

/** Holds when another option has one of these values. */
export interface OptionCondition {
  readonly option: string;
  readonly is: readonly string[];
}

/** When an option is required. `{}`: for every call. A custom host makes options of the address unnecessary. */
export interface Requirement {
  /** Only of integrations: calls have a default. */
  readonly stored?: true;
  /** Only for these operations; then integrations need not have it. */
  readonly operations?: readonly OperationName[];
  readonly when?: OptionCondition;
  readonly unless?: OptionCondition;
}

/** One option of a provider. */
export interface OptionSpec {
  /** In snake_case: the member of a config, and the name that it is stored under. */
  readonly name: string;
  readonly type: OptionType;
  readonly effect: OptionEffect;
  /** Other names that a config may use. */
  readonly aliases?: readonly string[];
  /** Request headers without the gateway's prefix, the documented one first; absent: the name with hyphens. */
  readonly headers?: readonly string[];
  readonly group?: HeaderGroup;
  /** Absent: all. */
  readonly from?: readonly OptionSource[];
  /** Stored encrypted, shown masked, never logged. */
  readonly secret?: true;
  readonly required?: Requirement;
  /** The values that there are. */
  readonly oneOf?: readonly string[];
  /** What the value must look like, in a pattern and in words, e.g. "must be a date". */
  readonly pattern?: readonly [RegExp, string];
  /** Of a stored text, in characters; 8192 when absent. */
  readonly maxLength?: number;
  /** Becomes a header or a query parameter of the provider's request; `default` when it is not given. */
  readonly sends?: (
    | { readonly header: string; readonly query?: never }
    | { readonly query: string; readonly header?: never }
  ) & { readonly default?: string };
  /** Where it is given, the request need not name a model; `named` is the option that says which model answers. */
  readonly insteadOfModel?: { readonly named?: string };
  /** Of type `deployments`: the options that a deployment's id, version and model set. */
  readonly deployment?: { readonly id: string; readonly version?: string; readonly model?: string };
  /** Values with which the provider needs no key. */
  readonly keylessWith?: readonly (string | boolean)[];
  /** Virtual keys: their member when it has another name, and what a new one starts with. */
  readonly virtualKey?: { readonly member?: string; readonly preset?: string };
}

/** An option that is a text and decides nothing. */
export function text(name: string, more: Partial<OptionSpec> = {}): OptionSpec {
  return { name, type: 'text', effect: 'none', ...more };
}

/** Several options that differ by name only. @param names separated by spaces */
export function texts(names: string, more: Partial<OptionSpec> = {}): OptionSpec[] {
  return names.split(/\s+/).map((name) => text(name, more));
}

/** The same options, taken from integrations and virtual keys only. */
export function storedOnly(specs: readonly OptionSpec[]): OptionSpec[] {
  return specs.map((spec) => ({ ...spec, from: ['stored'] }));
}
