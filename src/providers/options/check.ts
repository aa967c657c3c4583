// Whether a call has the options that its provider needs, and whether they are what they must be.
import type { ProviderEntry, ProviderOptions } from '../dialect.ts';
import type { OperationName } from '../operations.ts';
import { optionsOf } from './index-of.ts';
import { missingOption, specError } from './named.ts';
import type { OptionCondition, OptionSpec } from './spec.ts';

/**
 * Checks what a call needs.
 * @param operation undefined: a raw path is passed through
 * @param hosted whether a custom host replaces the address, whose options are then not looked at
 * @throws GatewayError `invalid_header` naming each way of an option that is missing or malformed.
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
    if (value === undefined || value === '') {
      if (spec.required?.stored !== true && isRequired(spec, options, operation))
        throw missingOption(entry, spec);
      if (value === undefined) continue;
    }
    const fault = optionFault(spec, value);
    if (fault !== undefined) throw specError(spec, fault);
  }
}

/** What is wrong with an option's text; undefined: nothing. */
export function optionFault({ pattern, oneOf, type }: OptionSpec, value: string): string | undefined {
  if (pattern !== undefined && !pattern[0].test(value)) return pattern[1];
  if (value === '') return undefined;
  if (oneOf !== undefined && !oneOf.includes(value)) return `must be one of ${oneOf.join(', ')}`;
  switch (type) {
    case 'flag':
      return /^(?:true|false|1|0)$/i.test(value) ? undefined : 'must be true or false';
    case 'host':
      return hostFault(value);
    default:
      return undefined;
  }
}

/** What is wrong with a base address; undefined: nothing. */
export function hostFault(value: string): string | undefined {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '')
    return 'must be an http or https address';
  return url.username !== '' || url.password !== '' || value.includes('?') || value.includes('#')
    ? 'must not carry credentials, a query or a fragment'
    : undefined;
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

function holds({ option, is }: OptionCondition, options: Readonly<Record<string, unknown>>): boolean {
  const value = options[option];
  return typeof value === 'string' && is.includes(value);
}
