// Where the link of an invitation leads. What the link carries stands after the `#`, which browsers send to no server.
import { useSignal } from '@preact/signals';
import { UserInvitesService } from '../../gen/gateway/admin/v2/user_invites_pb.ts';
import { client, signIn, wordsOf } from './api.ts';
import { Alert, Field } from './parts.tsx';
import { go } from './router.ts';

/** Read once: the address is cleared, so that no history keeps the token. */
const given = new URLSearchParams(location.hash.slice(1));
if (given.has('token')) history.replaceState(null, '', location.pathname);

export default function Invite() {
  const first = useSignal('');
  const last = useSignal('');
  const keys = useSignal<readonly string[] | undefined>(undefined);
  const fault = useSignal('');
  const accept = async (event: Event): Promise<void> => {
    event.preventDefault();
    fault.value = '';
    try {
      const { apiKeys } = await client(UserInvitesService).acceptUserInvite({
        inviteId: given.get('id') ?? '-',
        token: given.get('token') ?? '-',
        ...(first.value === '' ? {} : { firstName: first.value }),
        ...(last.value === '' ? {} : { lastName: last.value }),
      });
      keys.value = apiKeys.map(({ key }) => key);
    } catch (error) {
      fault.value = wordsOf(error);
    }
  };
  const enter = async (key: string): Promise<void> => {
    await signIn(key).catch((error: unknown) => {
      fault.value = wordsOf(error);
    });
    if (fault.value === '') go('/', true);
  };
  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <h1>Invitation</h1>
      {keys.value === undefined ? (
        <form onSubmit={accept}>
          <Field
            label="First name"
            maxLength={100}
            value={first.value}
            onInput={(event) => {
              first.value = event.currentTarget.value;
            }}
          />
          <Field
            label="Last name"
            maxLength={100}
            value={last.value}
            onInput={(event) => {
              last.value = event.currentTarget.value;
            }}
          />
          <button type="submit" class="primary">
            Accept
          </button>
        </form>
      ) : (
        <>
          <p>
            You are in.{' '}
            {keys.value.length > 0
              ? 'Keep your API key, it is not shown again:'
              : 'Sign in at the console by your identity provider or by mail.'}
          </p>
          {keys.value.map((key) => (
            <Field key={key} label="Secret" readOnly value={key} />
          ))}
          <button
            type="button"
            class="primary"
            onClick={() => (keys.value?.[0] === undefined ? go('/', true) : void enter(keys.value[0]))}
          >
            Go to the console
          </button>
        </>
      )}
      {fault.value !== '' && <Alert>{fault.value}</Alert>}
    </main>
  );
}
