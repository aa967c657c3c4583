// The page of people without a session. It takes the place of the page that they asked for, which follows.
import { useSignal } from '@preact/signals';
import { reachable, signIn, wordsOf } from './api.ts';
import { Alert, Field } from './parts.tsx';

export function SignIn() {
  const key = useSignal('');
  const fault = useSignal('');
  const busy = useSignal(false);
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
      <p class="hint">
        The first start of a gateway prints its keys. The key stays here no longer than it takes to sign in;
        the session ends after 8 hours without a call.
      </p>
    </main>
  );
}
