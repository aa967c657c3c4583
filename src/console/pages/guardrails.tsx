// Guardrails: checks that calls pass.
import { GuardrailsService } from '../../../gen/gateway/admin/v2/guardrails_pb.ts';
import { client } from '../api.ts';
import { moment } from '../figures.ts';
import { Alert, Head, Table, useLoaded } from '../parts.tsx';

export default function Guardrails() {
  const { value, error } = useLoaded('guardrails', (signal) =>
    client(GuardrailsService).listGuardrails({ pageSize: 100 }, { signal }),
  );
  return (
    <>
      <Head title="Guardrails" />
      {error !== undefined && <Alert>{error}</Alert>}
      {value !== undefined && (
        <Table
          label="Guardrails"
          columns={['Name', 'Slug', 'Status', 'Changed']}
          rows={value.data.map((guardrail) => [
            <bdi key="name">{guardrail.name}</bdi>,
            guardrail.slug,
            guardrail.status,
            moment(guardrail.lastUpdatedAt),
          ])}
          empty="No guardrail is saved. A guardrail checks what is asked and answered, and denies or logs what fails: POST /v1/guardrails makes one."
        />
      )}
    </>
  );
}
