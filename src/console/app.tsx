// The shell: who is signed in, the navigation, the page, and the keys that work everywhere.
import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { readSession, session, signOut } from './api.ts';
import { GoTo } from './go-to.tsx';
import type { PageProps } from './page-props.ts';
import { PAGES, type Page } from './pages.ts';
import { Alert, Head } from './parts.tsx';
import { returnTo } from './return-to.ts';
import { go, href, path } from './router.ts';
import { SignIn } from './sign-in.tsx';

/** The one page that needs no session. */
const INVITE: Page = {
  path: '/invite',
  name: 'Invitation',
  allowed: () => true,
  load: () => import('./invite.tsx'),
};

export function App() {
  useEffect(() => void readSession(), []);
  const next = session.value ? returnTo() : undefined;
  useEffect(() => {
    if (next !== undefined) location.replace(next);
  }, [next]);
  if (path.value === INVITE.path) return <Shown page={INVITE} />;
  if (session.value === undefined || next !== undefined) return <main id="main" aria-busy="true" />;
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      {session.value === null ? <SignIn /> : <Shell key={session.value.id} />}
    </>
  );
}

function Shell() {
  const allowed = PAGES.filter((page) => page.allowed());
  const first = allowed[0];
  useEffect(() => {
    if (path.value === '/' && first !== undefined) go(first.path, true);
  }, [first]);
  const page = allowed.find((one) => path.value === one.path || path.value.startsWith(`${one.path}/`));
  return (
    <div class="shell">
      <header>
        <a class="brand" href={href('/')}>
          Sluice
        </a>
        <nav aria-label="Main">
          <ul>
            {allowed.map(({ name, path: to }) => (
              <li key={to}>
                <a href={href(to)} aria-current={page?.path === to ? 'page' : undefined}>
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <div class="account">
          <span class="who" title={session.value?.role}>
            <bdi>{session.value?.name}</bdi>
          </span>
          <button type="button" onClick={() => void signOut()}>
            Sign out
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {session.value?.scopes.length === 0 && (
          <p class="empty">
            You are signed in, and in no workspace yet: ask an admin of {session.value.organisationName}.
          </p>
        )}
        {page !== undefined && <Shown key={page.path} page={page} />}
        {page === undefined && path.value !== '/' && (
          <>
            <Head title="No page" />
            <p class="empty">There is no such page, or not for this key.</p>
          </>
        )}
      </main>
      <GoTo pages={allowed} />
    </div>
  );
}

function Shown({ page }: { readonly page: Page }) {
  const loaded = useSignal<{ readonly part?: ComponentType<PageProps>; readonly fault?: boolean }>({});
  useEffect(() => {
    page.load().then(
      (module) => {
        loaded.value = { part: module.default };
      },
      () => {
        loaded.value = { fault: true };
      },
    );
  }, [page, loaded]);
  const { part: Part, fault } = loaded.value;
  if (fault) return <Alert>The page could not be loaded. Reload to try again.</Alert>;
  if (Part === undefined) return <p class="empty">Loading…</p>;
  return <Part rest={decoded(path.value.slice(page.path.length + 1))} />;
}

/** What is no text in UTF-8 stays as it is: no page is called so. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
