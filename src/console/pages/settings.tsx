// Settings: the reader's sessions, and the state of the gateway.
import { useSignal } from '@preact/signals';
import { SessionsService } from '../../../gen/gateway/admin/v2/sessions_pb.ts';
import { type GatewayStatus, StatusService } from '../../../gen/gateway/admin/v2/status_pb.ts';
import { client, may, session, signOut, wordsOf } from '../api.ts';
import { duration, moment, whole } from '../figures.ts';
import { Alert, Head, Table, useLoaded } from '../parts.tsx';

export default function Settings() {
  return (
    <>
      <Head title="Settings" />
      <p>
        {session.value?.name}, {session.value?.role}, of {session.value?.organisationName}
      </p>
      {session.value?.workspaceId === '' && may('organisation_settings.read') && <Status />}
      <Sessions />
    </>
  );
}

function Status() {
  const { value, error } = useLoaded('status', (signal) => client(StatusService).getStatus({}, { signal }));
  return (
    <section aria-label="Gateway">
      <h2>Gateway</h2>
      {error !== undefined && <Alert>{error}</Alert>}
      {value !== undefined && (
        <>
          <p>
            Sluice {value.version} on Node.js {value.runtime}, instance {value.instance},{' '}
            {whole(value.processes)} process{value.processes === 1 ? '' : 'es'}, since{' '}
            {moment(value.startedAt)}. Entries not stored yet: {whole(value.logBuffered)}, the oldest for{' '}
            {duration(value.logLagMs)}.
          </p>
          <Instances status={value} />
          <Table
            label="Stores"
            columns={['Store', 'Kind', 'State', 'Answers in']}
            rows={value.stores.map(({ name, kind, ready, latencyMs }) => [
              name,
              kind,
              ready ? 'ready' : 'does not answer',
              duration(latencyMs),
            ])}
            empty=""
          />
        </>
      )}
    </section>
  );
}

function Instances({ status: { instances, instancesIncomplete } }: { readonly status: GatewayStatus }) {
  return (
    <>
      {instancesIncomplete && (
        <Alert>MongoDB does not answer: only the process that was asked is listed, others may run.</Alert>
      )}
      <Table
        label="Instances"
        columns={['Instance', 'Version', 'Started', 'Last seen', 'Processes', 'Not stored yet', 'Oldest for']}
        rows={instances.map((one) => [
          <span key="instance">
            <bdi>{one.instance}</bdi>
            {one.isCurrent && ' (answers)'}
          </span>,
          <span key="version" title={`Node.js ${one.runtime}`}>
            {one.version}
          </span>,
          moment(one.startedAt),
          moment(one.lastSeenAt),
          <span key="workers" title={one.workers.map(({ pid }) => pid).join(', ')}>
            {whole(one.workers.length)}
          </span>,
          whole(one.logBuffered),
          duration(one.logLagMs),
        ])}
        empty=""
      />
    </>
  );
}

const BROWSERS = [/(Edg|OPR|Firefox)\/(\d+)/, /(Chrome)\/(\d+)/, /(?:Version)\/(\d+).*(Safari)/] as const;
const SYSTEMS = /Android|iPhone|iPad|Windows|Mac OS X|CrOS|Linux/;
const NAMES: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS' };

/** What people call the browser, e.g. `Firefox 140, Windows`; another program as it calls itself. */
function browserOf(agent: string): string {
  const found = BROWSERS.map((pattern) => pattern.exec(agent)).find((match) => match !== null);
  if (!found) return agent.slice(0, 60);
  const words = found.slice(1).map((word) => NAMES[word] ?? word);
  const system = SYSTEMS.exec(agent)?.[0] ?? '';
  const name = /^\d/.test(words[0] ?? '') ? words.toReversed() : words;
  return [name.join(' '), NAMES[system] ?? system].filter((part) => part !== '').join(', ');
}

function Sessions() {
  const fault = useSignal('');
  const { value, error, reload } = useLoaded('sessions', (signal) =>
    client(SessionsService).listSessions({ pageSize: 100 }, { signal }),
  );
  const end = async (id: string, isCurrent: boolean): Promise<void> => {
    if (isCurrent) return signOut();
    await client(SessionsService)
      .deleteSession({ sessionId: id })
      .catch((thrown: unknown) => {
        fault.value = wordsOf(thrown);
      });
    reload();
  };
  return (
    <section aria-label="Sessions">
      <h2>Sessions</h2>
      {(error ?? fault.value) !== '' && <Alert>{error ?? fault.value}</Alert>}
      {value !== undefined && (
        <Table
          label="Sessions"
          columns={['Who', 'Browser', 'From', 'Last call', 'Ends', '']}
          rows={value.data.map((one) => [
            <bdi key="who">{one.name}</bdi>,
            <bdi key="agent" title={one.userAgent}>
              {browserOf(one.userAgent)}
            </bdi>,
            one.address,
            moment(one.lastUsedAt),
            moment(one.expiresAt),
            <button key="end" type="button" onClick={() => void end(one.id, one.isCurrent)}>
              {one.isCurrent ? 'End this one' : 'End'}
            </button>,
          ])}
          empty="No session is open."
        />
      )}
    </section>
  );
}
