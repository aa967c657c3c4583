// The page of people without a session. It takes the place of the page that they asked for, which follows.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { SessionsService } from '../../gen/gateway/admin/v2/sessions_pb.ts';
import { client, reachable, signIn, wordsOf } from './api.ts';
import { Alert, Field, useLoaded } from './parts.tsx';
import { returnTo } from './return-to.ts';

export function SignIn() {
  const key = useSignal('');
  const fault = useSignal('');
  const busy = useSignal(false);
  useEffect(() => {
    document.title = 'Sign in · Sluice';
  }, []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    busy.value = true;
    fault.value = '';
    await signIn(key.value.trim()).catch((error: unknown) => {
      fault.value = wordsOf(error);
    });
    busy.value = false;
  };
  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <h1>Sluice</h1>
      <form onSubmit={submit}>
        <Field
          label="API key"
          class="masked"
          required
          value={key.value}
          onInput={(event) => {
            key.value = event.currentTarget.value;
          }}
        />
        <button type="submit" class="primary" disabled={busy.value}>
          Sign in
        </button>
      </form>
      {fault.value !== '' && <Alert>{fault.value}</Alert>}
      {!reachable.value && fault.value === '' && <Alert>The gateway does not answer.</Alert>}
      <OtherWays />
      <p class="hint">
        The first start of a gateway prints its keys. The key stays here no longer than it takes to sign in;
        the session ends after 8 hours without a call.
      </p>
    </main>
  );
}

/** Identity providers and mail, where the gateway has them. */
function OtherWays() {
  const { value } = useLoaded('sign-in methods', (signal) =>
    client(SessionsService).listSignInMethods({}, { signal }),
  );
  if (value === undefined) return null;
  const back = encodeURIComponent(returnTo() ?? location.pathname + location.search);
  return (
    <>
      {value.data.map(({ name, path }) => (
        <a
          key={path}
          class="button"
          target="_self"
          href={`${path}${path.includes('?') ? '&' : '?'}return_to=${back}`}
        >
          Continue with {name}
        </a>
      ))}
      {value.mail && <LinkForm />}
    </>
  );
}

function LinkForm() {
  const email = useSignal('');
  const said = useSignal('');
  const fault = useSignal('');
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    fault.value = '';
    said.value = '';
    const back = returnTo() ?? location.pathname + location.search;
    try {
      await client(SessionsService).requestSignInLink({ email: email.value.trim(), returnTo: back });
      said.value = 'If there is an account for this address, a link is on its way. Open it in this browser.';
    } catch (error) {
      fault.value = wordsOf(error);
    }
  };
  return (
    <form onSubmit={submit}>
      <Field
        label="Email"
        required
        value={email.value}
        onInput={(event) => {
          email.value = event.currentTarget.value;
        }}
      />
      <button type="submit">Send link</button>
      <p role="status">{said.value}</p>
      {fault.value !== '' && <Alert>{fault.value}</Alert>}
    </form>
  );
}
