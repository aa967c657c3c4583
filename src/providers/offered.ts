// Which operations a provider offers: those that it has itself, and those that are translated to what it has.
import type { Dialect, ProviderEntry } from './dialect.ts';
import type { Dialects } from './dialects/registry.ts';
import { OPERATION_NAMES, type OperationName, operationRow } from './operations.ts';

/** Whether it offers the operation, itself or over another one. */
export function offers(entry: ProviderEntry, dialect: Dialect, name: OperationName): boolean {
  const { over } = operationRow(name);
  return has(entry, dialect, name) || (over !== undefined && has(entry, dialect, over));
}

/** Whether it has the operation itself: its dialect can say it, and its literal does not deny it. */
export function has({ operations, native }: ProviderEntry, dialect: Dialect, name: OperationName): boolean {
  if (dialect[name] === undefined) return false;
  if (operationRow(name).listed) return native?.includes(name) === true;
  return operations === undefined || operations.includes(name);
}

/** All that it offers. */
export function offered(entry: ProviderEntry, dialects: Dialects): OperationName[] {
  const dialect = dialects.get(entry.dialect);
  return dialect === undefined ? [] : OPERATION_NAMES.filter((name) => offers(entry, dialect, name));
}
