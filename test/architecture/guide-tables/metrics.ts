import type { Family } from '../../../src/telemetry/family.ts';
import { startGateway } from '../../support/gateway.ts';
import { tableOf } from './cell.ts';

/** The telemetry guide's table, from the metrics of a gateway with telemetry on. */
export async function metricsTable(): Promise<string> {
  const gateway = await startGateway({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    LOG_LEVEL: 'silent',
  });
  try {
    const families = [...gateway.app.families].sort((a, b) => (a.name < b.name ? -1 : 1));
    return tableOf(['metric', 'type', 'labels', 'what it is'], families.map(row));
  } finally {
    await gateway.close();
  }
}

function row({ name, type, labels, help, restricted }: Family): string[] {
  return [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(', '),
    `${help}${restricted === true ? ' (needs the token of `/metrics` or its own port)' : ''}`,
  ];
}
