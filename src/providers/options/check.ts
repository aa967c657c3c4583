// Whether a call has the options that its provider needs.
import { type GatewayError, invalidHeader } from '../../lib/errors.ts';
import type { ProviderEntry, ProviderOptions } from '../dialect.ts';
import type { OperationName } from '../operations.ts';
import { headersOf, optionsOf } from './index-of.ts';
import type { OptionCondition, OptionSpec } from './spec.ts';

/**
 * Checks what a call needs.
 * @param operation undefined: a raw path is passed through
 * @param hosted whether a custom host replaces the address, whose options are then not looked at
 * @throws GatewayError `invalid_header` naming the header of an option that is missing or malformed.
 */
export function checkOptions(
  entry: ProviderEntry,
  options: ProviderOptions,
  operation: OperationName | undefined,
  hosted: boolean,
): void {
  if (entry.options === undefined) return;
  for (const spec of optionsOf(entry).checked) {
    if (hosted && spec.effect === 'address') continue;
    const value = options[spec.name];
    const { required, pattern } = spec;
    if (required !== undefined && !required.stored) {
      if (!isRequired(spec, options, operation)) continue;
      if (value === undefined || value === '') throw missingOption(entry, spec);
    }
    if (pattern !== undefined && value !== undefined && !pattern[0].test(value)) throw invalidOption(spec);
  }
}

/** Whether an option is required. @param operation undefined: any call, also one of a raw path */
export function isRequired(
  { required }: OptionSpec,
  options: Readonly<Record<string, unknown>>,
  operation?: OperationName,
): boolean {
  if (required === undefined) return false;
  const { operations, when, unless } = required;
  if (operations !== undefined && (operation === undefined || !operations.includes(operation))) return false;
  return (when === undefined || holds(when, options)) && (unless === undefined || !holds(unless, options));
}

/** The gateway's header that sets an option: `azure_api_version` is x-gateway-azure-api-version. */
export function optionHeader(spec: OptionSpec): string {
  return `x-gateway-${headersOf(spec)[0]}`;
}

/** The error of an option that a call lacks. */
export function missingOption({ id }: ProviderEntry, spec: OptionSpec): GatewayError {
  return invalidHeader(optionHeader(spec), `is required for ${id}`);
}

/** The error of an option whose value the provider cannot have. */
export function invalidOption(spec: OptionSpec): GatewayError {
  return invalidHeader(optionHeader(spec), spec.pattern?.[1] ?? 'cannot be part of an address');
}

function holds({ option, is }: OptionCondition, options: Readonly<Record<string, unknown>>): boolean {
  const value = options[option];
  return typeof value === 'string' && is.includes(value);
}
