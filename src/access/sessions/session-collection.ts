// Sessions as they are stored.
import { type Collection, defineCollection } from '../../store/collection.ts';

/** A sign-in without an API key. */
export interface SignedInBy {
  /** Id of an identity provider, `settings` for that of the settings; absent: by a link that was mailed. */
  readonly providerId?: string;
  /** The identity provider's own name of the person (`sub`). */
  readonly subject?: string;
  /** The identity provider's session (`sid`), where it tells one. */
  readonly providerSession?: string;
}

/** A person who is signed in; times are Unix milliseconds. The document's workspace is none: a session reaches what its key reaches. */
export interface SessionBody {
  /** Keyed hash of the cookie's value. */
  readonly hash: string;
  /** The key that it was made from; absent for users who signed in without one. */
  readonly keyId?: string;
  /** Hash of the key's secret at that time: a rotated key ends its sessions. */
  readonly keyHash?: string;
  readonly userId?: string;
  /** The user's role in the organisation at that time: another one ends the session. */
  readonly role?: 'owner' | 'admin' | 'member';
  /** The last call that was noted. */
  readonly seenAt: number;
  /** When it ends at the latest. */
  readonly expiresAt: number;
  /** How the person signed in; absent: by an API key. */
  readonly by?: SignedInBy;
  /** The identity provider's token of the sign-in: signing out there names the session by it. Encrypted; in no replica. */
  readonly idToken?: string;
  readonly address: string;
  readonly userAgent: string;
}

export const sessions: Collection<SessionBody> = defineCollection<SessionBody>({
  name: 'sessions',
  schemaVersion: 1,
  noticed: true,
  fields: [
    { name: 'keyId', type: 'text', nullable: true },
    { name: 'userId', type: 'text', nullable: true },
    { name: 'expiresAt', type: 'integer' },
  ],
  secret: ['idToken'],
});

/** The body without the token, which is not looked at: a token that cannot be opened throws then. */
export function withoutToken(body: SessionBody): SessionBody {
  const { idToken: _, ...descriptors } = Object.getOwnPropertyDescriptors(body);
  return Object.defineProperties({}, descriptors) as SessionBody;
}

/** Undefined without a token, and for one whose key is gone: a session ends without it too. */
export function idTokenOf(body: SessionBody): string | undefined {
  try {
    return body.idToken;
  } catch {
    return undefined;
  }
}
