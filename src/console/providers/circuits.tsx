// The circuit breakers of all configs: which targets are left alone now.
import type { JsonObject } from '@bufbuild/protobuf';
import { useSignal } from '@preact/signals';
import { ConfigsService } from '../../../gen/gateway/admin/v2/configs_pb.ts';
import { ConfigExplanationService } from '../../../gen/gateway/inference/v2/config_pb.ts';
import { Action } from '../action.tsx';
import { client, session } from '../api.ts';
import { Circuits } from '../config/circuits.tsx';

/** So many configs are asked about. */
const MOST = 100;
const AT_ONCE = 4;

export function AllCircuits({ workspaceId }: { readonly workspaceId: string }) {
  const found = useSignal<readonly (readonly [string, JsonObject])[] | undefined>(undefined);
  const read = async (): Promise<void> => {
    const of = session.value?.workspaceId === '' ? { workspaceId } : {};
    const { data } = await client(ConfigsService).listConfigs({ pageSize: MOST, ...of });
    const all: (readonly [string, JsonObject])[] = [];
    for (let i = 0; i < data.length; i += AT_ONCE)
      await Promise.all(
        data.slice(i, i + AT_ONCE).map(async ({ slug, name }) => {
          const config = { kind: { case: 'id', value: slug } } as const;
          const { circuits } = await client(ConfigExplanationService)
            .explainConfig({ config, ...of })
            // One that cannot be planned now says so on its own page.
            .catch(() => ({ circuits: [] }));
          all.push(...circuits.map((circuit) => [name, circuit] as const));
        }),
      );
    found.value = all;
  };
  return (
    <section aria-label="Circuits">
      <div class="head">
        <h2>Circuits</h2>
        <Action name="Read circuits" run={read} />
      </div>
      {found.value === undefined ? (
        <p class="hint">A circuit breaker of a config leaves a target alone that failed too often.</p>
      ) : (
        <Circuits circuits={found.value} />
      )}
    </section>
  );
}
