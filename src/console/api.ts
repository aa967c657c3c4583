// Calls of the gateway by its own contract.
import type { DescService } from '@bufbuild/protobuf';
import { type Client, Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { signal } from '@preact/signals';
import { type CallerSession, SessionsService } from '../../gen/gateway/admin/v2/sessions_pb.ts';
import { type ErrorDetail, ErrorDetailSchema } from '../../gen/gateway/common/v2/error_pb.ts';
import { hear, now } from './clock.ts';

/** Undefined: not known yet; null: no person is signed in. */
export const session = signal<CallerSession | null | undefined>(undefined);
/** Whether the gateway answered the last call. */
export const reachable = signal(true);

const watch: Interceptor = (next) => async (request) => {
  const asked = Date.now();
  try {
    const answer = await next(request);
    reachable.value = true;
    hear(answer.header.get('date'), asked);
    return answer;
  } catch (error) {
    notice(error);
    if (ConnectError.from(error).code === Code.Unavailable && detailOf(error) === undefined)
      reachable.value = false;
    throw error;
  }
};

const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [watch],
  fetch: (input, init) => fetch(input, { ...init, credentials: 'same-origin' }),
});

const clients = new Map<string, Client<DescService>>();

export function client<S extends DescService>(service: S): Client<S> {
  const known = clients.get(service.typeName);
  if (known !== undefined) return known as Client<S>;
  const made = createClient(service, transport);
  clients.set(service.typeName, made as Client<DescService>);
  return made;
}

/** The gateway's own word on an error, with its reason and the fields at fault. */
export function detailOf(error: unknown): ErrorDetail | undefined {
  return error instanceof ConnectError ? error.findDetails(ErrorDetailSchema)[0] : undefined;
}

/** A session that has ended leads to the sign-in; the address stays, so that it leads back. */
export function notice(error: unknown): void {
  if (detailOf(error)?.reason === 'unauthenticated') session.value = null;
}

/** An error for people. */
export function wordsOf(error: unknown): string {
  const { rawMessage, code } = ConnectError.from(error);
  if (code === Code.Canceled) return 'stopped';
  const violations = detailOf(error)?.violations ?? [];
  if (violations.length === 0)
    return rawMessage === 'Failed to fetch' ? 'the gateway does not answer' : rawMessage;
  return violations.map(({ field, message }) => `${field}: ${message}`).join('\n');
}

export async function readSession(): Promise<void> {
  try {
    session.value = await client(SessionsService).getSession({});
    windows.postMessage(session.value.id);
  } catch (error) {
    if (detailOf(error)?.reason !== 'unauthenticated') reachable.value = false;
    session.value = null;
  }
}

/** Whether the session is still there, or another one now; a gateway that does not answer ends none. */
export async function checkSession(): Promise<void> {
  const found = await client(SessionsService)
    .getSession({})
    .catch(() => undefined);
  if (found !== undefined && found.id !== session.value?.id) session.value = found;
}

/** Tells the other windows of this browser which session there is now: its id; empty: it has ended. */
const windows = new BroadcastChannel('sluice session');
windows.addEventListener('message', ({ data }: MessageEvent<string>) => {
  if (data === '') session.value = null;
  else if (session.value !== undefined && session.value?.id !== data) void checkSession();
});

// A window that was out of sight, or that the browser kept as it was, may be of a session that has ended.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible' && session.value) void checkSession();
});
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return;
  session.value = undefined;
  void readSession();
});
setInterval(() => {
  const expires = session.value?.expiresAt;
  if (expires !== undefined && Date.parse(expires) < now()) void checkSession();
}, 60_000);

/** @throws ConnectError when the key does not count */
export async function signIn(key: string): Promise<void> {
  session.value = await client(SessionsService).createSession({}, { headers: { 'x-gateway-api-key': key } });
  windows.postMessage(session.value.id);
}

export async function signOut(): Promise<void> {
  const { signOutUrl = '' } = await client(SessionsService)
    .deleteSession({ sessionId: 'current' })
    .catch(() => ({ signOutUrl: '' }));
  session.value = null;
  windows.postMessage('');
  // The identity provider ends its own session there, and leads back.
  if (/^https?:\/\//.test(signOutUrl)) location.assign(signOutUrl);
}

/** Whether the session holds one of the scopes. */
export function may(...scopes: readonly string[]): boolean {
  return session.value?.scopes.some((scope) => scopes.includes(scope)) ?? false;
}

/** The workspace that calls are made in by default. */
export function homeWorkspace(): string {
  const found = session.value?.workspaces ?? [];
  return (found.find(({ isDefault }) => isDefault) ?? found[0])?.id ?? '';
}
