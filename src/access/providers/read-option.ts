// The reader of options in integrations and virtual keys: one value, checked against its spec.
import type { OptionSpec } from '../../providers/options/spec.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import { headerFault } from './header-fault.ts';

const MAX_TEXT = 8192;
const MAX_OBJECT = 65_536;
const MAX_HEADERS = 32;
const MAX_DEPLOYMENTS = 200;
/** Visible characters and spaces: a value may become a header. */
const PRINTABLE = /^[\x20-\x7e]+$/;

/** What is wrong with a value, by the path below the option; empty when nothing is. */
export type OptionFaults = readonly { readonly path: string; readonly message: string }[];

const NONE: OptionFaults = [];
const wrong = (message: string, path = ''): OptionFaults => [{ path, message }];

/** Checks a value that is not null. Hosts are checked further by who may say what may be called. */
export function optionFaults(spec: OptionSpec, value: Json): OptionFaults {
  switch (spec.type) {
    case 'flag':
      return typeof value === 'boolean' ? NONE : wrong('must be true or false');
    case 'text':
    case 'host':
      return textFaults(spec, value);
    case 'object':
      if (!isObject(value)) return wrong('must be an object');
      return JSON.stringify(value).length <= MAX_OBJECT
        ? NONE
        : wrong(`must be ${MAX_OBJECT} bytes at the most`);
    case 'headers':
      return headersFaults(value);
    case 'deployments':
      return deploymentsFaults(value);
  }
}

function textFaults({ oneOf, maxLength = MAX_TEXT }: OptionSpec, value: Json): OptionFaults {
  // Some clients write numbers and flags bare.
  if (typeof value === 'number' || typeof value === 'boolean')
    return oneOf ? wrong(`must be one of ${oneOf.join(', ')}`) : NONE;
  if (typeof value !== 'string') return wrong('must be a text');
  if (oneOf !== undefined) return oneOf.includes(value) ? NONE : wrong(`must be one of ${oneOf.join(', ')}`);
  if (value.length === 0 || value.length > maxLength) return wrong(`must have 1 to ${maxLength} characters`);
  return PRINTABLE.test(value) || value.startsWith('-----BEGIN ') ? NONE : wrong('must be printable ASCII');
}

/** Headers that go with every request. */
export function headersFaults(value: Json): OptionFaults {
  if (!isObject(value)) return wrong('must be an object of texts');
  const pairs = Object.entries(value);
  if (pairs.length > MAX_HEADERS) return wrong(`must be ${MAX_HEADERS} headers at the most`);
  return pairs.flatMap(([name, text]) => {
    const fault = typeof text === 'string' ? headerFault(name, text) : 'must be a text';
    return fault === undefined ? [] : [{ path: name, message: fault }];
  });
}

function deploymentsFaults(value: Json): OptionFaults {
  if (!Array.isArray(value) || value.length === 0) return wrong('must be a list of at least one deployment');
  if (value.length > MAX_DEPLOYMENTS) return wrong(`must be ${MAX_DEPLOYMENTS} deployments at the most`);
  const names = new Set<string>();
  return value.flatMap((one: Json, i) => {
    if (!isObject(one)) return wrong('must be an object', `[${i}]`);
    const faults = deploymentFaults(one);
    const name = String(one.alias ?? one.azure_model_slug);
    if (names.has(name)) return [...faults, ...wrong(`is a second deployment for ${name}`, `[${i}]`)];
    names.add(name);
    return faults.map(({ path, message }) => ({ path: `[${i}].${path}`, message }));
  });
}

const DEPLOYMENT: Readonly<Record<string, { readonly required: boolean; readonly max: number }>> = {
  azure_api_version: { required: true, max: 30 },
  azure_deployment_name: { required: true, max: 255 },
  azure_model_slug: { required: true, max: 255 },
  alias: { required: false, max: 255 },
};

function deploymentFaults(one: JsonObject): OptionFaults {
  const faults: { path: string; message: string }[] = [];
  for (const [path, { required, max }] of Object.entries(DEPLOYMENT)) {
    const text = one[path];
    if (text === undefined || text === null) {
      if (required) faults.push({ path, message: 'is required' });
    } else if (typeof text !== 'string' || text.length === 0 || text.length > max)
      faults.push({ path, message: `must be a text of 1 to ${max} characters` });
  }
  const { is_default: isDefault } = one;
  if (isDefault !== undefined && isDefault !== null && typeof isDefault !== 'boolean')
    faults.push({ path: 'is_default', message: 'must be true or false' });
  for (const path of Object.keys(one)) {
    if (path !== 'is_default' && !Object.hasOwn(DEPLOYMENT, path))
      faults.push({ path, message: 'is not a member of a deployment' });
  }
  return faults;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
