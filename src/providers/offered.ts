// Which operations a provider offers: those of its dialect, or those of them that its literal names.
import type { Dialect, ProviderEntry } from './dialect.ts';
import type { Dialects } from './dialects/registry.ts';
import { OPERATION_NAMES, type OperationName } from './operations.ts';

/** Whether it offers the operation. */
export function offers({ operations }: ProviderEntry, dialect: Dialect, name: OperationName): boolean {
  return dialect[name] !== undefined && (operations === undefined || operations.includes(name));
}

/** All that it offers. */
export function offered(entry: ProviderEntry, dialects: Dialects): OperationName[] {
  const dialect = dialects.get(entry.dialect);
  return dialect === undefined ? [] : OPERATION_NAMES.filter((name) => offers(entry, dialect, name));
}
