// npm run chaos [-- --only NAME[,NAME]] [--list] [--sources]: attacks a gateway process and measures what holds meanwhile.
// It attacks the build, as users run it, and builds first when the sources have changed. --sources: the sources.
// Each file of `scenarios/` is one attack; the table of the security guide is made of them (`npm run generate`).
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import type { ChaosLab, Scenario, Verdict } from './scenario.ts';
import { readScenarios } from './scenarios.ts';

const { build, isFresh } = createRequire(import.meta.url)('../../src/launch.cjs') as {
  build(node: string): boolean;
  isFresh(root: string): boolean;
};
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const { values } = parseArgs({
  options: { only: { type: 'string' }, list: { type: 'boolean' }, sources: { type: 'boolean' } },
});
const built = values.sources !== true;
const all = await readScenarios();
const wanted = values.only?.split(',');
const unknown = wanted?.filter((name) => !all.some((scenario) => scenario.name === name)) ?? [];
if (unknown.length > 0) {
  console.error(
    `no scenario is named ${unknown.join(', ')}; there are: ${all.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}
if (values.list) {
  for (const { name, attack } of all) console.log(`${name.padEnd(32)} ${attack}`);
  process.exit(0);
}
if (built && !isFresh(ROOT) && !build(process.execPath)) {
  console.error('dist/ is older than the sources and cannot be built; --sources attacks the sources');
  process.exit(1);
}
let passed = 0;
let failed = 0;
for (const scenario of all.filter(({ name }) => wanted?.includes(name) ?? true)) {
  console.log(`\n${scenario.name}: ${scenario.attack}`);
  for (const { what, measured, bound, holds } of await verdictsOf(scenario)) {
    console.log(`  ${holds ? 'holds' : 'FAILS'}  ${what}: ${measured} (${bound})`);
    if (holds) passed++;
    else failed++;
  }
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);

async function verdictsOf(scenario: Scenario): Promise<readonly Verdict[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-chaos-'));
  const ends: (() => void | Promise<void>)[] = [
    () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }),
  ];
  const gateways: GatewayProcess[] = [];
  const lab: ChaosLab = {
    folder,
    onEnd: (end) => void ends.push(end),
    async startGateway(env = {}, options = {}) {
      const gateway = await startGatewayProcess(folder, env, { built, ...options });
      gateways.push(gateway);
      ends.push(() => gateway.child.stop());
      return gateway;
    },
  };
  try {
    return await scenario.run(lab);
  } catch (thrown) {
    const output = gateways.map(({ child }) => child.output().slice(-2000)).join('\n');
    console.error(thrown, output);
    return [{ what: 'the scenario ran to its end', measured: String(thrown), bound: 'true', holds: false }];
  } finally {
    for (const end of ends.reverse()) await end();
  }
}
