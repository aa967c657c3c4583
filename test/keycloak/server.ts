// A Keycloak on a free loopback port, with a realm that is imported from a file. Its distribution comes by Maven, once.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The newest line that runs on Java 17. */
const VERSION = '26.3.5';
const ARTIFACT = `org.keycloak:keycloak-quarkus-dist:${VERSION}:tar.gz`;
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy';
const FOLDER = fileURLToPath(new URL('../../.cache/keycloak', import.meta.url));
const HOME = join(FOLDER, `keycloak-${VERSION}`);
const REALM = new URL('realm.json', import.meta.url);
const DOWNLOAD_MS = 900_000;
const START_MS = 300_000;
const ADMIN = { username: 'admin', password: 'of-this-run-alone' } as const;
const run = promisify(execFile);

export interface Keycloak {
  readonly origin: string;
  readonly issuer: string;
  /** What an admin of the realm does. */
  admin(): Promise<KeycloakAdmin>;
  close(): Promise<void>;
}

export interface KeycloakAdmin {
  /** Ids of the person's sessions, the oldest first. */
  sessionsOf(username: string): Promise<readonly string[]>;
  endSession(id: string): Promise<void>;
}

/** A free port, for a program that is told its port. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** @throws Error that says how to install what is missing */
export async function downloadKeycloak(): Promise<void> {
  for (const [program, args, packages] of [
    ['java', ['-version'], 'openjdk-17-jre-headless'],
    ['mvn', ['-v'], 'maven'],
  ] as const)
    await run(program, args).catch(() => {
      throw new Error(`${program} is missing: apt-get install ${packages}`);
    });
  if (existsSync(join(HOME, 'bin', 'kc.sh'))) return;
  mkdirSync(FOLDER, { recursive: true });
  console.log(`Maven fetches ${ARTIFACT}, once`);
  const args = ['-q', '-B', COPY, `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${FOLDER}`];
  await run('mvn', [...args, '-Dmdep.useBaseVersion=true'], { timeout: DOWNLOAD_MS, cwd: FOLDER });
  const archive = join(FOLDER, `keycloak-quarkus-dist-${VERSION}.tar.gz`);
  await run('tar', ['-xzf', archive, '-C', FOLDER], { timeout: DOWNLOAD_MS });
  rmSync(archive, { force: true });
}

/** @param gateway its origin, which the realm's client comes back to */
export async function startKeycloak(port: number, gateway: string): Promise<Keycloak> {
  const folder = join(HOME, 'data', 'import');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const realm = readFileSync(REALM, 'utf8').replaceAll('$' + '{gateway}', gateway);
  writeFileSync(join(folder, 'sluice-realm.json'), realm);
  const origin = `http://127.0.0.1:${port}`;
  const args = ['--import-realm', '--db=dev-mem', '--cache=local', '--http-host=127.0.0.1'];
  const child = spawn(
    join(HOME, 'bin', 'kc.sh'),
    ['start-dev', ...args, `--http-port=${port}`, `--hostname=${origin}`],
    {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
        KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
        JAVA_OPTS_KC_HEAP: '-Xms128m -Xmx768m',
        JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1',
      },
    },
  );
  const issuer = `${origin}/realms/sluice`;
  await answering(child, `${issuer}/.well-known/openid-configuration`).catch(async (error) => {
    await stopped(child);
    throw error;
  });
  return {
    origin,
    issuer,
    admin: () => adminOf(origin),
    close: () => stopped(child),
  };
}

/** @throws Error with what it wrote, when it ends or does not answer in time */
async function answering(child: ChildProcess, url: string): Promise<void> {
  let said = '';
  const keep = (bytes: Buffer) => {
    said = (said + bytes.toString()).slice(-8000);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const end = performance.now() + START_MS;
  while (performance.now() < end && child.exitCode === null) {
    const answer = await fetch(url).catch(() => undefined);
    await answer?.text();
    if (answer?.ok) return;
    await sleep(500);
  }
  throw new Error(`Keycloak does not answer:\n${said}`);
}

/** Ends it with the processes of its script. */
async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  process.kill(-child.pid, 'SIGKILL');
  await ended;
}

async function adminOf(origin: string): Promise<KeycloakAdmin> {
  const form = new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...ADMIN });
  const token = await fetch(`${origin}/realms/master/protocol/openid-connect/token`, {
    method: 'POST',
    body: form,
  });
  const { access_token: access } = (await token.json()) as { access_token: string };
  const ask = async (path: string, method = 'GET'): Promise<unknown> => {
    const headers = { authorization: `Bearer ${access}` };
    const answer = await fetch(`${origin}/admin/realms/sluice/${path}`, { method, headers });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`Keycloak answers ${answer.status} to ${method} ${path}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  return {
    async sessionsOf(username) {
      const [user] = (await ask(`users?exact=true&username=${username}`)) as { id: string }[];
      const found = (await ask(`users/${user?.id}/sessions`)) as { id: string; start: number }[];
      return found.sort((a, b) => a.start - b.start).map(({ id }) => id);
    },
    async endSession(id) {
      await ask(`sessions/${id}`, 'DELETE');
    },
  };
}
