// Memory of a gateway while 100 MB go up and come down, at a provider and with the gateway itself.
//   node test/bench/files.ts [--bytes N]
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startFilesProvider } from '../support/fake-files.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { freePort } from './child.ts';

const { values } = parseArgs({ options: { bytes: { type: 'string', default: '100000000' } } });
const bytes = Number(values.bytes);
const MIB = 1024 * 1024;
const port = await freePort();
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-files-'));
const provider = await startFilesProvider({ 'file-big': bytes });
const gateway = await started();
const config = JSON.stringify({ provider: 'openai', api_key: 'sk', custom_host: provider.origin });

try {
  // A first round reads what is loaded when it is first used.
  for (const headers of [{ 'x-gateway-config': config }, {}] as Record<string, string>[])
    await download(headers, await upload(headers, MIB));
  const own = await measured('own upload', () => upload({}, bytes));
  await measured('own download', () => download({}, own));
  await measured('native upload', () => upload({ 'x-gateway-config': config }, bytes));
  await measured('native download', () => download({ 'x-gateway-config': config }, 'file-big'));
} finally {
  gateway.kill('SIGKILL');
  await provider.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function started(): Promise<ChildProcess> {
  const child = spawn(process.execPath, [new URL('../../src/main.ts', import.meta.url).pathname, 'start'], {
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_API_KEY: WORKSPACE_KEY,
      GATEWAY_EGRESS_ALLOW: '127.0.0.1/32',
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (text: Buffer) => String(text).includes('listens on') && resolve());
    child.once('exit', () => reject(new Error('the gateway did not start')));
  });
  return child;
}

function residentBytes(): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]) * 1024;
}

async function measured<T>(name: string, work: () => Promise<T>): Promise<T> {
  const before = residentBytes();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, residentBytes());
  }, 10);
  const begun = performance.now();
  const result = await work();
  clearInterval(timer);
  const seconds = (performance.now() - begun) / 1000;
  console.log(
    `${name}: ${(bytes / MIB).toFixed(0)} MiB in ${seconds.toFixed(1)} s, ${((most - before) / MIB).toFixed(1)} MiB above ${(before / MIB).toFixed(0)} MiB`,
  );
  return result;
}

function ask(method: string, path: string, headers: Record<string, string>): http.ClientRequest {
  return http.request({
    port,
    path,
    method,
    headers: { authorization: `Bearer ${WORKSPACE_KEY}`, ...headers },
  });
}

function upload(headers: Record<string, string>, size: number): Promise<string> {
  const req = ask('POST', '/v1/files', { 'content-type': 'multipart/form-data; boundary=b', ...headers });
  const piece = Buffer.alloc(64 * 1024, 'x');
  return new Promise((resolve, reject) => {
    req.on('error', reject);
    req.on('response', (res) => {
      let text = '';
      res.on('data', (part: Buffer) => {
        text += String(part);
      });
      res.on('end', () => {
        const { id } = JSON.parse(text) as { id?: string };
        if (id === undefined) reject(new Error(text));
        else resolve(id);
      });
    });
    req.write('--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n');
    req.write('--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n');
    let left = size;
    const write = (): void => {
      while (left > 0) {
        const part = left < piece.length ? piece.subarray(0, left) : piece;
        left -= part.length;
        if (!req.write(part)) return void req.once('drain', write);
      }
      req.end('\r\n--b--\r\n');
    };
    write();
  });
}

function download(headers: Record<string, string>, id: string): Promise<number> {
  const req = ask('GET', `/v1/files/${id}/content`, headers);
  return new Promise((resolve, reject) => {
    req.on('error', reject);
    req.on('response', (res) => {
      let read = 0;
      res.on('data', (part: Buffer) => {
        read += part.length;
      });
      res.on('end', () => resolve(read));
    });
    req.end();
  });
}
