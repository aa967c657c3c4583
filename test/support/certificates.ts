// Certificates of an authority of the test's own, made anew: nothing of them is kept in the tree.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

export interface Certificates {
  readonly authority: Pair;
  /** For 127.0.0.1 and api.example.com. */
  readonly server: Pair;
  readonly client: Pair;
  /** Of an authority of its own. */
  readonly stranger: Pair;
}

/** @param hosts further hosts of the server's certificate */
export async function makeCertificates(hosts: readonly string[] = []): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-certificates-'));
  const at = (name: string): string => join(folder, name);
  const make = async (name: string, ...more: string[]): Promise<Pair> => {
    const files = ['-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)];
    const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    await run('openssl', ['req', ...kind, '-subj', `/CN=test ${name}`, ...files, ...more]);
    const [key, cert] = await Promise.all([
      readFile(at(`${name}.key`), 'utf8'),
      readFile(at(`${name}.pem`), 'utf8'),
    ]);
    return { key, cert };
  };
  try {
    const authority = await make('authority');
    const signed = ['-CA', at('authority.pem'), '-CAkey', at('authority.key')];
    const leaf = [...signed, '-addext', 'basicConstraints=critical,CA:FALSE'];
    const names = ['DNS:api.example.com', 'IP:127.0.0.1', ...hosts.map((host) => `DNS:${host}`)];
    const [server, client, stranger] = await Promise.all([
      make('server', ...leaf, '-addext', `subjectAltName=${names.join(',')}`),
      make('client', ...leaf),
      make('stranger'),
    ]);
    return { authority, server, client, stranger };
  } finally {
    await rm(folder, { recursive: true });
  }
}
