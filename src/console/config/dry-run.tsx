// What a config would do with a call: no provider is called, nothing is counted or logged.
import type { JsonObject } from '@bufbuild/protobuf';
import { useSignal } from '@preact/signals';
import {
  type ConfigExplanation,
  ConfigExplanationService,
} from '../../../gen/gateway/inference/v2/config_pb.ts';
import { client, session } from '../api.ts';
import { Area, objectOf, textsOf } from '../fields.tsx';
import { Alert, Field, Table } from '../parts.tsx';
import { Circuits } from './circuits.tsx';

interface DryRunProps {
  readonly workspace: string;
  readonly text: () => string;
  /** Tells what is wrong with the config in place. @returns the same in words */
  readonly onFault: (error: unknown) => string;
}

export function DryRun({ workspace, text, onFault }: DryRunProps) {
  const result = useSignal<ConfigExplanation | undefined>(undefined);
  const fault = useSignal('');
  const run = async (event: Event): Promise<void> => {
    event.preventDefault();
    const { params, metadata, path } = textsOf(new FormData(event.currentTarget as HTMLFormElement));
    fault.value = '';
    result.value = undefined;
    try {
      const inline = objectOf('Config', text()) as JsonObject;
      result.value = await client(ConfigExplanationService).explainConfig({
        config: { kind: { case: 'inline', value: inline } },
        params: objectOf('Request', params) as JsonObject,
        metadata: objectOf('Metadata', metadata) as JsonObject,
        ...(path === undefined ? {} : { path }),
        ...(session.value?.workspaceId === '' ? { workspaceId: workspace } : {}),
      });
    } catch (error) {
      fault.value = onFault(error);
    }
  };
  return (
    <section aria-label="Dry run" class="part">
      <h2>Dry run</h2>
      <p class="hint">Where a call would go by the config as it stands above. No provider is called.</p>
      <form onSubmit={run} class="dry-run">
        <Area label="Request" name="params" rows={2} defaultValue={'{"model": "gpt-4o-mini"}'} />
        <Area label="Metadata" name="metadata" rows={2} placeholder='{"team": "search"}' />
        <Field label="Path" name="path" placeholder="/v1/chat/completions" maxLength={2048} />
        <button type="submit">Try</button>
      </form>
      {fault.value !== '' && <Alert>{fault.value}</Alert>}
      {result.value !== undefined && <Result {...result.value} />}
    </section>
  );
}

function Result({ targets, passedOver, maxAttempts, conditions, circuits, plan }: ConfigExplanation) {
  return (
    <>
      <p role="status">
        At most {maxAttempts} call{maxAttempts === 1 ? '' : 's'} to providers.
      </p>
      <Table
        label="Targets"
        columns={['Order', 'Target', 'Provider']}
        rows={[
          ...targets.map((path, i) => [String(i + 1), path || 'the config', providerAt(plan, path)]),
          ...passedOver.map((path) => ['never', path, providerAt(plan, path)]),
        ]}
        empty="No target would be tried."
      />
      {conditions.length > 0 && (
        <Table
          label="Conditions"
          columns={['Condition', 'Result']}
          rows={conditions.map((one, i) => [String(i + 1), <code key="one">{JSON.stringify(one)}</code>])}
          empty=""
        />
      )}
      {circuits.length > 0 && <Circuits circuits={circuits.map((one) => ['this config', one] as const)} />}
      <details>
        <summary>Plan</summary>
        <pre class="body">{JSON.stringify(plan, null, 2)}</pre>
      </details>
    </>
  );
}

/** The provider of a target of the plan. */
function providerAt(plan: JsonObject | undefined, path: string): string {
  if (plan === undefined) return '';
  if (plan.path === path || (path === '' && plan.targets === undefined)) return String(plan.provider ?? '');
  const below = Array.isArray(plan.targets) ? plan.targets : [];
  return below.map((one) => providerAt(one as JsonObject, path)).find((found) => found !== '') ?? '';
}
