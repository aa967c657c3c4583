// Guardrails: checks that calls pass. Each one can be tried with a text; nothing is called or logged.
import { useSignal } from '@preact/signals';
import { GuardrailsService } from '../../../gen/gateway/admin/v2/guardrails_pb.ts';
import { type GuardrailTest, TestsService } from '../../../gen/gateway/inference/v2/tests_pb.ts';
import { client, homeWorkspace, may, session, wordsOf } from '../api.ts';
import { moment } from '../figures.ts';
import { GuardrailActions, NewGuardrail } from '../guardrails/form.tsx';
import { Alert, Choice, Field, Head, Table, useLoaded } from '../parts.tsx';
import { ask, query } from '../router.ts';

export default function Guardrails() {
  const { value, error, reload } = useLoaded('guardrails', (signal) =>
    client(GuardrailsService).listGuardrails({ pageSize: 100 }, { signal }),
  );
  const guardrails = value?.data ?? [];
  return (
    <>
      <Head title="Guardrails">
        {may('guardrails.create', 'organisation_guardrails.create') && <NewGuardrail onMade={reload} />}
      </Head>
      {error !== undefined && <Alert>{error}</Alert>}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && (
        <Table
          label="Guardrails"
          columns={['Name', 'Slug', 'Status', 'Changed', '']}
          keys={guardrails.map(({ id }) => id)}
          rows={guardrails.map((guardrail) => [
            <bdi key="name">{guardrail.name}</bdi>,
            guardrail.slug,
            guardrail.status,
            moment(guardrail.lastUpdatedAt),
            <GuardrailActions key="actions" guardrail={guardrail} onChanged={reload} />,
          ])}
          empty="A guardrail checks what is asked and answered, and denies or logs what fails. New guardrail makes the first one; configs, workspaces and the organisation name it."
        />
      )}
      {guardrails.length > 0 && <Try all={guardrails.map(({ slug, name }) => [slug, name] as const)} />}
    </>
  );
}

function Try({ all }: { readonly all: readonly (readonly [slug: string, name: string])[] }) {
  const text = useSignal('');
  const result = useSignal<GuardrailTest | undefined>(undefined);
  const fault = useSignal('');
  const chosen = query.value.get('guardrail') ?? all[0]?.[0] ?? '';
  const event = query.value.get('event') === 'output' ? 'output' : 'input';
  const submit = async (submitted: Event): Promise<void> => {
    submitted.preventDefault();
    fault.value = '';
    result.value = undefined;
    try {
      result.value = await client(TestsService).testGuardrail({
        guardrailId: chosen,
        event,
        text: text.value,
        ...(session.value?.workspaceId === '' ? { workspaceId: homeWorkspace() } : {}),
      });
    } catch (error) {
      fault.value = wordsOf(error);
    }
  };
  return (
    <section aria-label="Try a guardrail">
      <h2>Try a guardrail</h2>
      <form class="filters" onSubmit={submit}>
        <Choice label="Guardrail" value={chosen} options={all} onChange={(guardrail) => ask({ guardrail })} />
        <Choice
          label="Text is"
          value={event}
          options={[
            ['input', 'asked'],
            ['output', 'answered'],
          ]}
          onChange={(one) => ask({ event: one })}
        />
        <Field
          label="Text"
          required
          maxLength={100_000}
          value={text.value}
          onInput={(typed) => {
            text.value = typed.currentTarget.value;
          }}
        />
        <button type="submit">Test</button>
      </form>
      {fault.value !== '' && <Alert>{fault.value}</Alert>}
      {result.value !== undefined && <Result {...result.value} />}
    </section>
  );
}

function Result({ decision, text, checks }: GuardrailTest) {
  return (
    <>
      <p role="status">
        {decision}
        {text !== undefined && (
          <>
            ; the text becomes <bdi>{text}</bdi>
          </>
        )}
      </p>
      <Table
        label="Checks"
        columns={['Check', 'Verdict', 'Why']}
        rows={checks.map((check) => [
          String(check.id),
          check.verdict === true ? 'passed' : 'failed',
          <bdi key="why">{JSON.stringify(check.error ?? check.data ?? '')}</bdi>,
        ])}
        empty="None of its checks applies to a text of this kind."
      />
    </>
  );
}
