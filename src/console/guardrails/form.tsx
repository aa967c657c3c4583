// What a guardrail checks, and what follows.
import type { JsonObject } from '@bufbuild/protobuf';
import { type Guardrail, GuardrailsService } from '../../../gen/gateway/admin/v2/guardrails_pb.ts';
import { client, homeWorkspace, may, session } from '../api.ts';
import { FormDialog } from '../dialog.tsx';
import { Area, arrayOf, Check, objectOf } from '../fields.tsx';
import { Field, useLoaded } from '../parts.tsx';

type Texts = Readonly<Record<string, string>>;

const FIRST = [{ id: 'default.contains', parameters: { operator: 'none', words: ['secret'] } }];
const guardrails = () => client(GuardrailsService);

/** @throws Error that names the field at fault */
function contentOf({ name = '', checks, deny, actions }: Texts) {
  return {
    name,
    checks: arrayOf('Checks', checks).map((one) => {
      const {
        id = '',
        parameters = {},
        is_enabled,
      } = one as {
        id?: string;
        parameters?: JsonObject;
        is_enabled?: boolean;
      };
      return { id, parameters, ...(is_enabled === undefined ? {} : { isEnabled: is_enabled }) };
    }),
    actions: { ...objectOf('Further actions', actions), deny: deny === 'yes' } as JsonObject,
  };
}

export function NewGuardrail({ onMade }: { readonly onMade: () => void }) {
  const create = async (texts: Texts): Promise<void> => {
    const of = session.value?.workspaceId === '' ? { workspaceId: homeWorkspace() } : {};
    await guardrails().createGuardrail({ ...contentOf(texts), ...of });
    onMade();
  };
  return (
    <FormDialog name="New guardrail" submit="Create" isPrimary onSubmit={create}>
      <Fields name="" checks={FIRST} actions={{ deny: true }} />
    </FormDialog>
  );
}

interface OfGuardrail {
  readonly guardrail: Guardrail;
  readonly onChanged: () => void;
}

export function GuardrailActions({ guardrail, onChanged }: OfGuardrail) {
  const { slug, name } = guardrail;
  const update = async (texts: Texts): Promise<void> => {
    await guardrails().updateGuardrail({ guardrailId: slug, ...contentOf(texts) });
    onChanged();
  };
  const remove = async (): Promise<void> => {
    await guardrails().deleteGuardrail({ guardrailId: slug });
    onChanged();
  };
  return (
    <span class="actions">
      {may('guardrails.update', 'organisation_guardrails.update') && (
        <FormDialog name="Edit" label={`Edit ${name}`} submit="Save" onSubmit={update}>
          <Saved slug={slug} />
        </FormDialog>
      )}
      {may('guardrails.delete', 'organisation_guardrails.delete') && (
        <FormDialog name="Delete" label={`Delete ${name}`} submit="Delete" onSubmit={remove}>
          <p>Configs that name it are refused from then on.</p>
        </FormDialog>
      )}
    </span>
  );
}

/** Lists do not have the checks: they are read when they are wanted. */
function Saved({ slug }: { readonly slug: string }) {
  const { value } = useLoaded(slug, (signal) => guardrails().getGuardrail({ guardrailId: slug }, { signal }));
  if (value === undefined) return <p class="empty">Loading…</p>;
  const checks = value.checks.map(({ id, parameters, isEnabled }) => ({
    id,
    parameters,
    ...(isEnabled === undefined ? {} : { is_enabled: isEnabled }),
  }));
  return <Fields name={value.name} checks={checks} actions={value.actions ?? {}} />;
}

interface FieldsProps {
  readonly name: string;
  readonly checks: readonly object[];
  readonly actions: JsonObject;
}

function Fields({ name, checks, actions }: FieldsProps) {
  const { deny, ...others } = actions;
  const further = Object.keys(others).length === 0 ? '' : JSON.stringify(others, null, 2);
  return (
    <>
      <Field label="Name" name="name" required maxLength={255} defaultValue={name} />
      <Area label="Checks" name="checks" rows={8} required defaultValue={JSON.stringify(checks, null, 2)} />
      <p class="hint">
        Each check has an id, e.g. default.contains, and its parameters. All of them are in{' '}
        <a href="/docs/guardrails" target="_blank" rel="noreferrer">
          the guide
        </a>
        .
      </p>
      <Check label="Deny what fails" name="deny" checked={deny === true} />
      <Area label="Further actions" name="actions" rows={2} defaultValue={further} />
    </>
  );
}
