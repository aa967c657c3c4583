// Prompts: templates that callers run by name, one to a page with its versions.
import { PromptsService } from '../../../gen/gateway/admin/v2/prompts_pb.ts';
import { client, may } from '../api.ts';
import { moment } from '../figures.ts';
import type { PageProps } from '../page-props.ts';
import { Alert, Head, Table, useLoaded } from '../parts.tsx';
import { PromptPage } from '../prompts/page.tsx';
import { href } from '../router.ts';

export default function Prompts({ rest }: PageProps) {
  return rest === '' ? <List /> : <PromptPage key={rest} slug={rest === 'new' ? undefined : rest} />;
}

function List() {
  const { value, error } = useLoaded('prompts', (signal) =>
    client(PromptsService).listPrompts({ pageSize: 1000 }, { signal }),
  );
  return (
    <>
      <Head title="Prompts">
        {may('prompts.create') && (
          <a class="button" href={href('/prompts/new')}>
            New prompt
          </a>
        )}
      </Head>
      {error !== undefined && <Alert>{error}</Alert>}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && (
        <Table
          label="Prompts"
          columns={['Name', 'Slug', 'Status', 'Changed', '']}
          rows={value.data.map((prompt) => [
            <a key="name" href={href(`/prompts/${encodeURIComponent(prompt.slug)}`)}>
              <bdi>{prompt.name}</bdi>
            </a>,
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
          empty={
            <>
              A prompt is a template with variables that callers run by its slug: its text changes here, and
              no program has to. <a href={href('/prompts/new')}>Write the first one</a>, or{' '}
              <a href={href('/playground')}>save one from the playground.</a>
            </>
          }
        />
      )}
    </>
  );
}
