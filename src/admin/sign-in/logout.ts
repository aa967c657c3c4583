// Sessions that end because the identity provider says so.
import type { SystemChanges } from '../../access/audit/system-changes.ts';
import { type SessionBody, sessions } from '../../access/sessions/session-collection.ts';
import type { SessionRing } from '../../access/sessions/session-ring.ts';
import type { Logout } from '../../access/sign-in/logout-token.ts';
import { archiveOperation, type Document } from '../../store/documents.ts';

export interface LogoutDeps {
  readonly systemChanges: SystemChanges;
  readonly sessions: SessionRing;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Archived with one commit. */
const BATCH = 500;

/** Ends the sessions that the identity provider made for the subject, or for its own session. @returns how many */
export async function endSessions(
  { systemChanges, sessions: ring, now }: LogoutDeps,
  organisationId: string,
  providerId: string,
  { subject, providerSession }: Logout,
): Promise<number> {
  // A session whose identity token named no session of the identity provider is known by its subject alone.
  const isMeant = ({ body: { by } }: Document<SessionBody>): boolean =>
    by?.providerId === providerId &&
    (subject === undefined || by.subject === subject) &&
    (providerSession === undefined ||
      by.providerSession === providerSession ||
      (by.providerSession === undefined && subject !== undefined));
  const meant = [...ring.of(organisationId)].filter(isMeant);
  for (let i = 0; i < meant.length; i += BATCH) {
    const some = meant.slice(i, i + BATCH);
    await systemChanges.commit(
      { verb: 'delete', resource: 'session', detail: 'back-channel logout' },
      { organisationId, workspaceId: undefined },
      some.map(({ id }) => archiveOperation(sessions, id, { updatedAt: now() })),
      { id: some[0]!.id, name: subject ?? providerSession ?? '' },
    );
  }
  return meant.length;
}
