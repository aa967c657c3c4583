// Credentials of partners' services.
import { alias, group, required, secret, text } from '../contract/fields.ts';
import type { Field, Fields, Parameters } from '../contract/parameters.ts';
import { urlField } from '../outward/headers.ts';

/** A key, or another credential. */
export const key = secret(required(text(4096)));
/** Another address of the service: a region's, or one's own. */
export const endpoint = alias(urlField, 'baseUrl', 'base_url', 'url');

/** The parameter `credentials`, which is never shown. */
export function credentials<F extends Fields>(fields: F): Field<Parameters<F>> {
  return secret(required(group(fields)));
}

/** A host that a credential names: no path, no credentials of its own. */
export function host(max = 253): Field<string | undefined> {
  const field = text(max);
  return {
    ...field,
    read(value, path, fault) {
      const name = field.read(value, path, fault);
      if (name === undefined || /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(name)) return name;
      fault(path, 'must be a host name');
      return undefined;
    },
  };
}
