// The sandbox's workers: started when first needed, one job each, ended by force at the job's deadline.
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { CheckFailure } from '../contract/check.ts';
import { FairQueue } from './fair-queue.ts';
import type { Job, Reply } from './protocol.ts';
import type { Sandbox } from './sandbox.ts';

/** Bounds of a sandbox; all have defaults. */
export interface SandboxOptions {
  /** Workers at most; default one less than there are cores, 1 to 4: slow patterns never take them all. */
  readonly workers?: number;
  /** Longest time of one job in milliseconds, by the wall; default 500. Schemas, which are compiled first, get twice that. */
  readonly deadlineMs?: number;
  /** Longest wait for a free worker in milliseconds; default 2,000. */
  readonly queueMs?: number;
  /** Jobs that may wait, of one tenant; default 200. Of all: ten times that. */
  readonly maxQueued?: number;
  /** Characters of one job's texts; default 2,097,152. */
  readonly maxCharacters?: number;
  /** Memory of a worker's heap in MiB; default 96. */
  readonly maxHeapMb?: number;
}

interface Task {
  readonly tenant: string;
  readonly job: Job;
  resolve(value: unknown): void;
  reject(failure: CheckFailure): void;
  timer: NodeJS.Timeout | undefined;
}

interface Slot {
  readonly worker: Worker;
  ready: boolean;
  task: Task | undefined;
}

const ENTRY = new URL('./worker.ts', import.meta.url);

/** Makes a sandbox; nothing is started before the first job. */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const {
    workers = Math.min(4, Math.max(1, availableParallelism() - 1)),
    deadlineMs = 500,
    queueMs = 2000,
    maxQueued = 200,
  } = options;
  const { maxCharacters = 2_097_152, maxHeapMb = 96 } = options;
  const queue = new FairQueue<Task>();
  const slots = new Set<Slot>();
  let closed = false;

  function submit<T>(tenant: string, job: Job): Promise<T> {
    const refusal = refuse(tenant, job);
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise<T>((resolve, reject) => {
      const task: Task = { tenant, job, resolve: resolve as Task['resolve'], reject, timer: undefined };
      task.timer = setTimeout(() => {
        queue.remove(tenant, task);
        reject(new CheckFailure('OverloadedError', `no time for this check within ${queueMs} ms`));
      }, queueMs);
      queue.push(tenant, task);
      serve();
    });
  }

  function refuse(tenant: string, job: Job): CheckFailure | undefined {
    if (closed) return new CheckFailure('OverloadedError', 'the gateway is shutting down');
    const length = job.texts.reduce((sum, text) => sum + text.length, 0);
    if (length > maxCharacters) {
      return new CheckFailure('InputTooLongError', `the text has more than ${maxCharacters} characters`);
    }
    if (queue.lengthOf(tenant) >= maxQueued || queue.length >= maxQueued * 10) {
      return new CheckFailure('OverloadedError', 'too many checks are waiting');
    }
    return undefined;
  }

  function serve(): void {
    for (const slot of slots) {
      if (queue.length === 0) return;
      if (slot.ready && slot.task === undefined) give(slot);
    }
    // Workers that are starting take one each.
    const starting = [...slots].filter(({ ready }) => !ready).length;
    for (let i = starting; i < queue.length && slots.size < workers; i++) start();
  }

  function start(): void {
    const worker = new Worker(ENTRY, {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 16 },
    });
    const slot: Slot = { worker, ready: false, task: undefined };
    slots.add(slot);
    worker.on('message', (reply: Reply) => settle(slot, reply));
    worker.on('error', (error) => lose(slot, error));
    worker.on('exit', () => lose(slot, undefined));
  }

  function give(slot: Slot): void {
    const task = queue.shift();
    if (task === undefined) return;
    clearTimeout(task.timer);
    slot.task = task;
    slot.worker.ref();
    const ms = task.job.kind === 'validate' ? deadlineMs * 2 : deadlineMs;
    task.timer = setTimeout(() => end(slot, new CheckFailure('TimeoutError', `ended after ${ms} ms`)), ms);
    slot.worker.postMessage(task.job);
  }

  function settle(slot: Slot, reply: Reply): void {
    if (reply.kind === 'ready') {
      slot.ready = true;
    } else {
      const { task } = slot;
      slot.task = undefined;
      clearTimeout(task?.timer);
      if (reply.kind === 'done') task?.resolve(reply.value);
      else task?.reject(new CheckFailure(reply.name, reply.message));
    }
    slot.worker.unref();
    serve();
  }

  /** A worker that died by itself: out of memory, as a rule. */
  function lose(slot: Slot, error: unknown): void {
    if (!slots.has(slot)) return;
    const memory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
    end(
      slot,
      new CheckFailure(
        'OverloadedError',
        memory ? `needs more than ${maxHeapMb} MiB` : 'the check was interrupted',
      ),
    );
  }

  function end(slot: Slot, failure: CheckFailure): void {
    slots.delete(slot);
    clearTimeout(slot.task?.timer);
    slot.task?.reject(failure);
    slot.task = undefined;
    slot.worker.terminate();
    // One that cannot even start is not started for ever: whoever waits gives up at the end of the wait.
    if (slot.ready && !closed) serve();
  }

  return {
    match: (tenant, pattern, texts) => submit(tenant, { kind: 'match', pattern, texts }),
    replace: (tenant, pattern, texts, by) => submit(tenant, { kind: 'replace', pattern, texts, by }),
    validate: (tenant, schema, texts) =>
      submit(tenant, { kind: 'validate', schema: JSON.stringify(schema), texts }),
    includes: (tenant, words, texts) => submit(tenant, { kind: 'includes', words, texts }),
    find: (tenant, texts) => submit(tenant, { kind: 'find', texts }),
    async close() {
      closed = true;
      for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
        clearTimeout(task.timer);
        task.reject(new CheckFailure('OverloadedError', 'the gateway is shutting down'));
      }
      const ended = [...slots].map(({ worker }) => worker);
      for (const slot of [...slots])
        end(slot, new CheckFailure('OverloadedError', 'the gateway is shutting down'));
      await Promise.all(ended.map((worker) => worker.terminate()));
    },
  };
}
