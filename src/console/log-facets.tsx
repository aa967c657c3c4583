// The values that entries have, to filter by.
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { client } from './api.ts';
import { moment, whole } from './figures.ts';
import { filtersOf, listed, timesOf } from './log-query.ts';
import { useNames } from './names.ts';
import { Alert, useLoaded } from './parts.tsx';
import { ask, query } from './router.ts';

/** Names of facets, with the members of the address and people's words. */
const NAMES: Readonly<Record<string, readonly [member: string, words: string]>> = {
  status_code: ['status', 'By status'],
  ai_model: ['model', 'By model'],
  ai_org: ['provider', 'By provider'],
  api_key_ids: ['key', 'By key'],
  virtual_keys: ['virtual_key', 'By stored provider'],
  configs: ['config', 'By config'],
  prompt_slug: ['prompt', 'By prompt'],
  cache_status: ['cache', 'By cache'],
  error_reason: ['error_reason', 'By error'],
};
const SHOWN = 8;

export function LogFacets() {
  const asked = query.value.toString();
  const { value, error } = useLoaded(asked, (signal) => {
    const params = new URLSearchParams(asked);
    return client(LogsService).listLogFacets({ ...filtersOf(params), ...timesOf(params) }, { signal });
  });
  const nameOf = useNames();
  if (error !== undefined) return <Alert>{error}</Alert>;
  const facets = value?.data.filter(({ values }) => values.length > 0) ?? [];
  const since = facets.find(({ countedFrom }) => countedFrom !== undefined)?.countedFrom;
  return (
    <div class="facets">
      {facets.map(({ name, values }) => {
        const [member, words] = NAMES[name] ?? [name, name];
        return (
          <section key={name} aria-label={words}>
            <h2>{words}</h2>
            <ul>
              {values.slice(0, SHOWN).map(({ value: text, requests }) => (
                <li key={text}>
                  <button type="button" class="link" onClick={() => ask({ [member]: listed(text) })}>
                    <bdi>{(name === 'api_key_ids' ? nameOf(text) : text).slice(0, 80)}</bdi>
                  </button>{' '}
                  <span class="count">{whole(requests)}</span>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
      {since !== undefined && (
        <p class="hint">
          There are more entries than could be counted: all since {moment(since)}, and some before.
        </p>
      )}
      {(value?.metadataNames.length ?? 0) > 0 && (
        <p class="hint">Metadata: {value?.metadataNames.slice(0, 30).join(', ')}</p>
      )}
    </div>
  );
}
