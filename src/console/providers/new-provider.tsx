// Stores a provider with its credential.
import { ProviderCatalogueService } from '../../../gen/gateway/admin/v2/provider_catalogue_pb.ts';
import { VirtualKeysService } from '../../../gen/gateway/admin/v2/virtual_keys_pb.ts';
import { client, session } from '../api.ts';
import { FormDialog } from '../dialog.tsx';
import { Select } from '../fields.tsx';
import { Alert, Field, useLoaded } from '../parts.tsx';

interface NewProviderProps {
  readonly workspaceId: string;
  readonly onMade: () => void;
}

export function NewProvider({ workspaceId, onMade }: NewProviderProps) {
  const create = async (texts: Readonly<Record<string, string>>): Promise<void> => {
    const { name = '', service = '', key, slug, host } = texts;
    await client(VirtualKeysService).createVirtualKey({
      name,
      provider: service,
      ...(key === undefined ? {} : { key }),
      ...(slug === undefined ? {} : { slug }),
      ...(host === undefined ? {} : { customHost: host }),
      ...(session.value?.workspaceId === '' ? { workspaceId } : {}),
    });
    onMade();
  };
  return (
    <FormDialog name="New provider" submit="Create" isPrimary onSubmit={create}>
      <NewProviderFields />
    </FormDialog>
  );
}

function NewProviderFields() {
  const { value, error } = useLoaded('catalogue', (signal) =>
    client(ProviderCatalogueService).listProviderCatalogue({}, { signal }),
  );
  const services = value?.data.map(({ id, name }) => [id, name] as const) ?? [];
  return (
    <>
      {error !== undefined && <Alert>{error}</Alert>}
      <Field label="Name" name="name" required maxLength={255} />
      <Select key={services.length} label="Service" name="service" defaultValue="openai" options={services} />
      <Field label="Provider API key" name="key" class="masked" maxLength={8192} />
      <Field label="Slug" name="slug" maxLength={255} placeholder="made of the name" />
      <Field label="Base URL" name="host" maxLength={2048} placeholder="the provider's own" />
      <p class="hint">
        The key is kept encrypted and never shown. Services with further options, e.g. regions, take them in
        POST /v1/virtual-keys.
      </p>
    </>
  );
}
