// A worker of the sandbox: one job at a time, ended from outside when it takes too long.
import { parentPort } from 'node:worker_threads';
import { CheckFailure, type CheckFailureName } from '../contract/check.ts';
import { runJob } from './jobs.ts';
import type { Job, Reply } from './protocol.ts';
import { warm } from './schemas.ts';

const port = parentPort;
if (port === null) throw new Error('this file runs as a worker');

port.on('message', (job: Job) => say(answer(job)));
warm();
say({ kind: 'ready' });

type Said = Reply extends infer R ? (R extends Reply ? Omit<R, 'cpuUs'> : never) : never;

function say(answer: Said): void {
  const { user, system } = process.threadCpuUsage();
  port?.postMessage({ ...answer, cpuUs: user + system });
}

function answer(job: Job): Said {
  try {
    return { kind: 'done', value: runJob(job) };
  } catch (error) {
    if (error instanceof CheckFailure) {
      return { kind: 'failed', name: error.name as CheckFailureName, message: error.message };
    }
    const text = error instanceof Error ? `${error.name}: ${error.message}` : 'the job failed';
    return { kind: 'failed', name: 'CheckError', message: text.slice(0, 500) };
  }
}
