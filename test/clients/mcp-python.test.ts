// The official Python SDK of MCP, unchanged, in both of its modes at servers of both generations and at all of them.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startLegacyUpstream, startModernUpstream } from '../support/mcp/upstreams.ts';
import { pythonWith } from './python-environment.ts';

const run = promisify(execFile);

interface Seen {
  readonly version: string;
  readonly plain: string;
  readonly asked: string;
  readonly hidden: string;
  readonly prompts: number;
  readonly resources: number;
}

test('the Python SDK: lists, calls, questions, progress, hidden tools, in each pairing', async (t) => {
  t.timeout(300_000);
  const python = await pythonWith(t, {
    folder: 'python-mcp',
    packages: ['mcp==2.3.0'],
    proof: 'import mcp.client.client, httpx2',
  });
  if (python === undefined) return;
  const [older, newer] = await Promise.all([startLegacyUpstream(), startModernUpstream()]);
  const off = { type: 'tool', name: 'test_image_content', enabled: false, updatedAt: 1 } as const;
  const server = { switches: [off] };
  const gateway = await startMcpGateway({
    older: { url: older.url, server },
    newer: { url: newer.url, server },
  });
  try {
    const paths = [
      ['/older/mcp', ''],
      ['/newer/mcp', ''],
      ['/mcp', 'older__'],
      ['/mcp', 'newer__'],
    ];
    const given = { origin: gateway.origin, key: WORKSPACE_KEY, paths };
    const { stdout } = await run(python, [resolve('test/clients/mcp_client.py'), JSON.stringify(given)], {
      env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' },
      timeout: 240_000,
    });
    const seen = JSON.parse(stdout) as Record<string, Seen>;
    t.is(Object.keys(seen).length, 9);
    for (const [name, one] of Object.entries(seen)) {
      t.like(one, { listed: true, isHiddenListed: false, steps: [0, 50, 100] }, name);
      t.is(one.version, name.endsWith('legacy') ? '2025-11-25' : '2026-07-28', name);
      t.regex(one.plain, /simple text response/, name);
      t.regex(one.asked, /action=accept.*ada/, name);
      t.regex(one.hidden, /Unknown tool/, name);
      t.true(one.prompts > 0 && one.resources > 0, name);
    }
  } finally {
    await gateway.close();
    await older.close();
    await newer.close();
  }
});
