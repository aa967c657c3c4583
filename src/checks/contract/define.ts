// From a check's declaration to the check: its parameters are read once and closed in.
import type { BoundCheck, Check, CheckDefinition } from './check.ts';
import { type Fields, readParameters } from './parameters.ts';

const DEFAULT_TIMEOUT_MS = 5000;

/** Makes a check of its declaration. */
export function defineCheck<F extends Fields>(definition: CheckDefinition<F>): Check {
  const { id, aliases = [], events, fields, onError = 'pass', timeoutMs = DEFAULT_TIMEOUT_MS } = definition;
  return {
    id,
    aliases,
    events,
    fields,
    rewrites: definition.rewrites ?? false,
    asks: definition.asks ?? false,
    onError,
    timeoutMs,
    bind(value, path, fault): BoundCheck | undefined {
      const parameters = readParameters(fields, value, path, fault);
      if (parameters === undefined) return undefined;
      let sound = true;
      definition.validate?.(parameters, (at, message) => {
        sound = false;
        fault(path === '' ? at : `${path}.${at}`, message);
      });
      if (!sound) return undefined;
      return {
        reach: definition.reach?.(parameters) ?? 'whole',
        span: definition.span?.(parameters) ?? 0,
        run: (context, deps) => definition.run(context, parameters, deps),
      };
    },
  };
}
