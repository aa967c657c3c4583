// Puts in place what `npm run test:servers` needs and the machine lacks.
import { execFileSync } from 'node:child_process';
import { installPackages, quickestPython } from '../python-packages.ts';
import { MONGO_ENVIRONMENT, mongoKind } from './mongo.ts';
import { redisKind } from './redis.ts';

/** The MongoDB-compatible server of the tests; see its PyPI page. */
const MONGO_PACKAGE = 'secantusdb==0.7.0b3';

/** Installs the servers that are missing. Throws when that is not possible. */
export async function installServers(): Promise<void> {
  if (!process.env.REDIS_URL && redisKind() === undefined) {
    if (process.getuid?.() !== 0) throw new Error('redis-server is missing, and only root can install it');
    run('apt-get', 'update');
    run('apt-get', 'install', '-y', 'redis-server');
  }
  if (!process.env.MONGODB_URI && mongoKind() === undefined) {
    const python = await quickestPython();
    process.stdout.write(`installing ${MONGO_PACKAGE} into ${MONGO_ENVIRONMENT} for ${python}\n`);
    await installPackages(MONGO_ENVIRONMENT, [MONGO_PACKAGE], python);
  }
}

function run(program: string, ...args: string[]): void {
  process.stdout.write(`$ ${program} ${args.join(' ')}\n`);
  execFileSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
}
