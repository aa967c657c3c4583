// Base addresses: a provider's own, with options filled in, or a custom host. No value of an option can change the
// host that a template names, but for the part that it stands for.
import { urlText } from '../lib/url-text.ts';
import type { ProviderEntry, ProviderOptions } from './dialect.ts';
import { hostFault } from './options/check.ts';
import { customHostError, invalidOption, missingOption } from './options/named.ts';
import { type OptionSpec, text } from './options/spec.ts';

const MAX_KEPT = 1000;
const PLACEHOLDER = /\{(\w+)\}/g;
const HOST_PART = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/** A base address, read. */
export interface Base {
  readonly origin: string;
  /** Without a trailing slash; empty for the root. */
  readonly path: string;
}

// Base addresses are few and repeat with every call.
const bases = new Map<string, Base>();

/** The base of a custom host. @throws GatewayError `invalid_header` for what is no http or https address. */
export function customBase(text: string): Base {
  return bases.get(text) ?? kept(text, parseBase(text));
}

/**
 * The base of a template, options filled in.
 * @throws GatewayError `invalid_header` naming the header of an option that is missing, or that is no part of a host.
 */
export function templateBase(entry: ProviderEntry, template: string, options: ProviderOptions): Base {
  if (!template.includes('{')) return customBase(template);
  const path = template.indexOf('/', template.indexOf('//') + 2);
  const inHost: OptionSpec[] = [];
  const filled = template.replace(PLACEHOLDER, (_, name: string, at: number) => {
    const spec = entry.options?.find((one) => one.name === name) ?? text(name);
    const value = options[name];
    if (value === undefined || value === '') throw missingOption(entry, spec);
    if (path !== -1 && at > path) {
      if (value === '.' || value === '..' || !value.isWellFormed()) throw invalidOption(spec);
      return urlText(value);
    }
    if (!HOST_PART.test(value)) throw invalidOption(spec);
    inHost.push(spec);
    return value.toLowerCase();
  });
  const known = bases.get(filled);
  if (known !== undefined) return known;
  // Some labels are letters and no host all the same ("xn--").
  const host = filled.slice(template.indexOf('//') + 2).split('/')[0];
  const [first] = inHost;
  if (first !== undefined && (!URL.canParse(filled) || new URL(filled).host !== host))
    throw invalidOption(first);
  return kept(filled, parseBase(filled));
}

function kept(text: string, base: Base): Base {
  if (bases.size >= MAX_KEPT) bases.clear();
  bases.set(text, base);
  return base;
}

/** Reads a base address: http or https, a host, perhaps a path; no credentials, query or fragment. */
function parseBase(text: string): Base {
  const fault = hostFault(text);
  if (fault !== undefined) throw customHostError(fault);
  const url = new URL(text);
  return Object.freeze({ origin: url.origin, path: url.pathname.replace(/\/+$/, '') });
}
