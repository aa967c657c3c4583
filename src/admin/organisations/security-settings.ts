// Security settings as callers change them.
import type { Directory } from '../../access/directory.ts';
import {
  categoryOf,
  isSecuritySetting,
  SECURITY_CATEGORIES,
  type SecuritySetting,
  type SecuritySettings,
} from '../../access/security-settings.ts';
import { type Violation, validationFailed } from '../../lib/errors.ts';

/**
 * A workspace's overrides with the given ones laid over them.
 * @throws GatewayError validation_failed for names that are none, and for categories that the organisation keeps to itself.
 */
export function changedSettings(
  directory: Directory,
  organisationId: string,
  before: SecuritySettings | undefined,
  given: Readonly<Record<string, boolean>>,
): SecuritySettings | undefined {
  const open = new Set<string>(
    directory.organisation(organisationId)?.body.openToWorkspaces ?? SECURITY_CATEGORIES,
  );
  const named = namedSettings(given);
  const violations = (Object.keys(named) as SecuritySetting[]).flatMap((name): Violation[] => {
    if (open.has(categoryOf(name))) return [];
    const message = `the organisation has not opened ${categoryOf(name)} to its workspaces`;
    return [{ field: `security_settings.${name}`, rule: 'closed', message }];
  });
  if (violations.length > 0) throw validationFailed(violations);
  return Object.keys(named).length === 0 ? before : { ...before, ...named };
}

/** Settings by their names. @throws GatewayError validation_failed for names that are none. */
export function namedSettings(given: Readonly<Record<string, boolean>>): SecuritySettings {
  const violations = Object.keys(given).flatMap((name): Violation[] =>
    isSecuritySetting(name)
      ? []
      : [
          {
            field: `security_settings.${name}`,
            rule: 'unknown',
            message: 'is not the name of a security setting',
          },
        ],
  );
  if (violations.length > 0) throw validationFailed(violations);
  return given;
}
