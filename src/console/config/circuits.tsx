// Circuit breakers of targets, and their states.
import type { JsonObject } from '@bufbuild/protobuf';
import { moment } from '../figures.ts';
import { Table } from '../parts.tsx';

interface CircuitsProps {
  readonly circuits: readonly (readonly [config: string, circuit: JsonObject])[];
}

export function Circuits({ circuits }: CircuitsProps) {
  return (
    <Table
      label="Circuits"
      columns={['Config', 'Target', 'State', 'Failures', 'Open until']}
      rows={circuits.map(([config, { path, state, failures, open_until: until }]) => [
        <bdi key="config">{config}</bdi>,
        String(path ?? '') || 'the config',
        String(state ?? ''),
        String(failures ?? ''),
        typeof until === 'number' ? moment(new Date(until).toISOString()) : '',
      ])}
      empty="No target has a circuit breaker. The member cb_config of a config sets one."
    />
  );
}
