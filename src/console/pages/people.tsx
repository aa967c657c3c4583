// People: who is in the organisation, who was invited, and who is in which workspace.

import { useSignal } from '@preact/signals';
import { may, session } from '../api.ts';
import { Head } from '../parts.tsx';
import { Invitations, InviteDialog } from '../people/invitations.tsx';
import { Members } from '../people/members.tsx';
import { Users } from '../people/users.tsx';

export default function People() {
  // Each part reads anew when another one changed what it shows.
  const round = useSignal(0);
  const again = (): void => {
    round.value++;
  };
  const isOrganisation = session.value?.workspaceId === '' && may('organisation_users.list');
  return (
    <>
      <Head title="People">
        {isOrganisation && may('organisation_users.create') && <InviteDialog onMade={again} />}
      </Head>
      {isOrganisation && (
        <>
          <Users round={round.value} onChanged={again} />
          <Invitations round={round.value} onChanged={again} />
        </>
      )}
      {may('workspace_users.list') && <Members round={round.value} />}
    </>
  );
}
