// The container image, compose file and Kubernetes manifests: what they must have, and that they fit together.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import test from 'ava';
import { stringify } from 'yaml';
import { SETTINGS } from '../architecture/guide-tables/setting-rows.ts';
import { ROOT } from '../architecture/tools.ts';
import { pythonWith } from '../clients/python-environment.ts';
import { at, type Entries, manifests, textOf, type Value, yamlOf } from './read.ts';

const variables = new Set(SETTINGS.flatMap(({ names }) => names));
/** Read by Node itself. */
const OF_NODE = ['NODE_COMPILE_CACHE', 'NODE_ENV'];

const byKind = (kind: string): Entries[] =>
  manifests().flatMap(({ manifest }) => (manifest.kind === kind ? [manifest] : []));
const only = (kind: string): Entries => {
  const [found, ...others] = byKind(kind);
  if (found === undefined || others.length > 0) throw new Error(`there must be one ${kind}`);
  return found;
};

test('the image has stages, a fixed small base, a user, a health check and files that exist', (t) => {
  const text = textOf('Containerfile');
  const lines = text.replace(/\\\n/g, ' ').split('\n');
  const stages = lines.filter((line) => line.startsWith('FROM '));
  t.is(stages.length, 2);
  for (const stage of stages) {
    t.regex(stage, /^FROM \S+:\S+/);
    t.notRegex(stage, /:latest/);
  }
  t.regex(stages[1]!, /distroless/);
  const last = lines.slice(lines.lastIndexOf(stages[1]!));
  const users = last.flatMap((line) => /^USER (\S+)/.exec(line)?.[1] ?? []);
  t.deepEqual(users, ['65532:65532']);
  t.is(last.filter((line) => line.startsWith('HEALTHCHECK ')).length, 1);
  t.regex(text, /'\/health'/);
  for (const line of lines.filter((each) => each.startsWith('COPY ') && !each.includes('--from=')))
    for (const name of line.split(' ').slice(1, -1)) t.true(existsSync(join(ROOT, name)), name);
  const env = last.flatMap((line) => [...(/^ENV (.*)/.exec(line)?.[1] ?? '').matchAll(/(\w+)=/g)]);
  for (const [, name = ''] of env) t.true(variables.has(name) || OF_NODE.includes(name), name);
  // Whatever the image copies is in the context that is sent.
  const sent = textOf('Containerfile.dockerignore').split('\n');
  for (const name of ['package.json', 'package-lock.json', '.npmrc', 'LICENSE', 'gen', 'src'])
    t.true(sent.includes(`!${name}`), name);
});

test('compose starts a replica set, a Redis that keeps its data, and a locked-down gateway', (t) => {
  const [compose] = yamlOf('compose.yaml');
  const services = at(compose, 'services') as Entries;
  t.deepEqual(Object.keys(services), ['mongodb', 'redis', 'gateway']);
  t.true((at(services, 'mongodb', 'command') as readonly Value[]).includes('--replSet'));
  t.true((at(services, 'redis', 'command') as readonly Value[]).includes('--appendonly'));
  const gateway = services.gateway as Entries;
  t.is(gateway.read_only, true);
  t.deepEqual(gateway.cap_drop, ['ALL']);
  for (const name of Object.keys(gateway.environment as Entries)) t.true(variables.has(name), name);
  for (const service of Object.keys(gateway.depends_on as Entries))
    t.truthy(at(services, service, 'healthcheck'), service);
  for (const port of gateway.ports as readonly string[]) t.regex(port, /^127\.0\.0\.1:/);
  const named = Object.values(services).flatMap(
    (service) => (at(service, 'volumes') ?? []) as readonly string[],
  );
  for (const volume of named)
    t.true(Object.keys(at(compose, 'volumes') as Entries).includes(volume.split(':')[0]!));
  t.true(
    existsSync(join(ROOT, 'src/deploy', String(at(gateway, 'build', 'context')), 'src/deploy/Containerfile')),
  );
});

test('the kustomize base lists every manifest', (t) => {
  const [base] = yamlOf('kubernetes/kustomization.yaml');
  const files = [...new Set(manifests().map(({ file }) => file))].sort();
  t.deepEqual([...(at(base, 'resources') as readonly string[])].sort(), files);
});

test('manifests have the members of their kinds and no others', (t) => {
  const ajv = new Ajv({ allErrors: true });
  for (const { file, manifest } of manifests()) {
    const schema = SCHEMAS[String(manifest.kind)];
    t.truthy(schema, `${file}: ${manifest.kind}`);
    const valid = ajv.validate(schema!, manifest);
    t.true(valid, `${file}: ${ajv.errorsText()}`);
  }
});

test('the pod is locked down, takes secrets by reference and is probed', (t) => {
  const pod = at(only('StatefulSet'), 'spec', 'template', 'spec');
  t.is(at(pod, 'securityContext', 'runAsNonRoot'), true);
  t.is(at(pod, 'automountServiceAccountToken'), false);
  const [container, ...others] = at(pod, 'containers') as readonly Entries[];
  t.deepEqual(others, []);
  t.is(at(container, 'securityContext', 'readOnlyRootFilesystem'), true);
  t.is(at(container, 'securityContext', 'allowPrivilegeEscalation'), false);
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
    t.true(['/readyz', '/health'].includes(String(at(container, probe, 'httpGet', 'path'))), probe);
  t.is(at(container, 'livenessProbe', 'httpGet', 'path'), '/health');
  const env = at(container, 'env') as readonly Entries[];
  for (const { name, value } of env) {
    t.true(variables.has(String(name)), String(name));
    if (/KEY|TOKEN|URI|URL/.test(String(name))) t.is(value, undefined, String(name));
  }
  t.is(byKind('Secret').length, 0);
  const drain = Number(env.find(({ name }) => name === 'GATEWAY_DRAIN_SECONDS')?.value);
  t.true(Number(at(pod, 'terminationGracePeriodSeconds')) > drain);
});

test('selectors, ports and the autoscaler point at what is there', (t) => {
  const set = only('StatefulSet');
  const labels = at(set, 'spec', 'template', 'metadata', 'labels');
  const [container] = at(set, 'spec', 'template', 'spec', 'containers') as readonly Entries[];
  const ports = (at(container, 'ports') as readonly Entries[]).map(({ name }) => name);
  for (const service of byKind('Service')) {
    t.deepEqual(at(service, 'spec', 'selector'), labels);
    for (const port of at(service, 'spec', 'ports') as readonly Entries[])
      t.true(ports.includes(port.targetPort as string));
  }
  t.true(byKind('Service').some((one) => at(one, 'metadata', 'name') === at(set, 'spec', 'serviceName')));
  t.deepEqual(at(only('PodDisruptionBudget'), 'spec', 'selector', 'matchLabels'), labels);
  t.deepEqual(at(only('NetworkPolicy'), 'spec', 'podSelector', 'matchLabels'), labels);
  const scaler = only('HorizontalPodAutoscaler');
  t.is(at(scaler, 'spec', 'scaleTargetRef', 'name'), at(set, 'metadata', 'name'));
  t.is(at(scaler, 'spec', 'metrics', 0, 'pods', 'metric', 'name'), 'sluice_calls_in_flight');
  const reserved = Number(at(scaler, 'spec', 'metrics', 0, 'pods', 'target', 'averageValue'));
  const env = at(container, 'env') as readonly Entries[];
  // Pods are added long before one refuses calls.
  t.true(reserved * 2 < Number(env.find(({ name }) => name === 'GATEWAY_MAX_IN_FLIGHT')?.value));
});

test('manifests are valid by the schemas of Kubernetes', async (t) => {
  t.timeout(300_000);
  const python = await pythonWith(t, {
    folder: 'kubernetes-schemas',
    packages: ['kubernetes-validate==1.37.0'],
    proof: 'import kubernetes_validate',
  });
  if (python === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), 'sluice-manifests-'));
  try {
    const file = join(folder, 'all.yaml');
    writeFileSync(
      file,
      manifests()
        .map(({ manifest }) => stringify(manifest))
        .join('---\n'),
    );
    const { stdout, stderr } = await promisify(execFile)(python, [
      '-m',
      'kubernetes_validate',
      '--strict',
      file,
    ]);
    t.is([...(stdout + stderr).matchAll(/ passed for resource /g)].length, manifests().length);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const text = { type: 'string', minLength: 1 };
const labels = { type: 'object', minProperties: 1, additionalProperties: text };

/** A manifest of a version, with these members of its spec. */
function kind(apiVersion: string, required: readonly string[], optional: readonly string[] = []): object {
  const members = Object.fromEntries([...required, ...optional].map((name) => [name, {}]));
  return {
    type: 'object',
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    properties: {
      apiVersion: { const: apiVersion },
      kind: text,
      metadata: metadata(),
      spec: { type: 'object', required, properties: members, additionalProperties: false },
    },
    additionalProperties: false,
  };
}

function metadata(): object {
  return {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$' },
      labels,
      annotations: labels,
    },
    additionalProperties: false,
  };
}

/** The least that each kind must have, for machines where the whole schemas cannot be had. */
const SCHEMAS: Readonly<Record<string, object>> = {
  ServiceAccount: {
    type: 'object',
    required: ['apiVersion', 'kind', 'metadata'],
    properties: {
      apiVersion: { const: 'v1' },
      kind: text,
      metadata: metadata(),
      automountServiceAccountToken: { type: 'boolean' },
    },
    additionalProperties: false,
  },
  StatefulSet: kind(
    'apps/v1',
    ['serviceName', 'selector', 'template'],
    ['podManagementPolicy', 'volumeClaimTemplates', 'replicas'],
  ),
  Service: kind('v1', ['selector', 'ports'], ['clusterIP', 'publishNotReadyAddresses', 'type']),
  PodDisruptionBudget: kind('policy/v1', ['selector'], ['maxUnavailable', 'minAvailable']),
  HorizontalPodAutoscaler: kind(
    'autoscaling/v2',
    ['scaleTargetRef', 'minReplicas', 'maxReplicas', 'metrics'],
    ['behavior'],
  ),
  NetworkPolicy: kind('networking.k8s.io/v1', ['podSelector', 'policyTypes'], ['ingress', 'egress']),
};
