// Prompts: templates that callers run by name.
import { PromptsService } from '../../../gen/gateway/admin/v2/prompts_pb.ts';
import { client } from '../api.ts';
import { moment } from '../figures.ts';
import { Alert, Head, Table, useLoaded } from '../parts.tsx';
import { href } from '../router.ts';

export default function Prompts() {
  const { value, error } = useLoaded('prompts', (signal) =>
    client(PromptsService).listPrompts({ pageSize: 100 }, { signal }),
  );
  return (
    <>
      <Head title="Prompts" />
      {error !== undefined && <Alert>{error}</Alert>}
      {value !== undefined && (
        <Table
          label="Prompts"
          columns={['Name', 'Slug', 'Status', 'Changed', '']}
          rows={value.data.map((prompt) => [
            <bdi key="name">{prompt.name}</bdi>,
            prompt.slug,
            prompt.status,
            moment(prompt.lastUpdatedAt),
            <a
              key="entries"
              href={href('/logs', { prompt: prompt.slug })}
              aria-label={`Entries of ${prompt.name}`}
            >
              Entries
            </a>,
          ])}
          empty="No prompt is saved. A prompt is a template with variables that callers run by its slug: POST /v1/prompts makes one."
        />
      )}
    </>
  );
}
