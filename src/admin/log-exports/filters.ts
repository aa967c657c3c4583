// The entries and fields of an export.
import type { LogExportFilters } from '../../../gen/gateway/admin/v2/log_exports_pb.ts';
import type { Directory } from '../../access/directory.ts';
import { EXPORT_FIELDS } from '../../ledger/exports/fields.ts';
import { GatewayError, invalidField, validationFailed } from '../../lib/errors.ts';
import type { LogFilter } from '../../store/request-log.ts';
import { logFilter } from '../logs/filter.ts';

/** The filter that is meant. @throws GatewayError validation_failed, naming the member of `filters`. */
export function exportFilter(filters: LogExportFilters, now: number): LogFilter {
  const { metadata, ...rest } = filters;
  try {
    return logFilter(
      { ...rest, metadata: metadata === undefined ? undefined : JSON.stringify(metadata) },
      now,
    );
  } catch (error) {
    if (!(error instanceof GatewayError) || error.details.violations === undefined) throw error;
    throw validationFailed(
      error.details.violations.map((violation) => ({ ...violation, field: `filters.${violation.field}` })),
    );
  }
}

/** Names of fields that the organisation denies to exports. */
export function deniedFields(directory: Directory, organisationId: string): readonly string[] {
  const settings = directory.organisation(organisationId)?.body.settings?.export_settings;
  const { deniedFields: denied = [] } = (settings ?? {}) as { readonly deniedFields?: readonly string[] };
  return denied;
}

/** Each once. @throws GatewayError validation_failed for unknown and for denied ones. */
export function exportFields(
  directory: Directory,
  organisationId: string,
  given: readonly string[],
): readonly string[] {
  const denied = deniedFields(directory, organisationId);
  for (const name of given) {
    if (!EXPORT_FIELDS.includes(name))
      throw invalidField('requested_data', `must be of ${EXPORT_FIELDS.join(', ')}`, 'in');
    if (denied.includes(name))
      throw invalidField('requested_data', `${name}: the organisation denies it to exports`, 'denied');
  }
  return [...new Set(given)];
}
