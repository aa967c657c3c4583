// The sandbox's workers: started when first needed, one job each, ended by force at the job's deadline.
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { CheckFailure } from '../contract/check.ts';
import { FairQueue } from './fair-queue.ts';
import type { Job, Reply } from './protocol.ts';
import type { JobOwner, Sandbox } from './sandbox.ts';
import { wordsIn } from './text/plain-look.ts';
import { examine, TEXT_WORK } from './text-work.ts';
import { TurnBudget } from './turn-budget.ts';

/** Bounds of a sandbox; all have defaults. */
export interface SandboxOptions {
  /**
   * Workers at most; default one less than there are cores, 2 to 4. One workspace never has all of them, nor does one
   * of several organisations.
   */
  readonly workers?: number;
  /**
   * Longest processor time of one job in milliseconds; default 500. Schemas, which are compiled first, get twice that.
   * On a machine that gives a worker no time, eight times that by the wall.
   */
  readonly deadlineMs?: number;
  /** Longest wait for a free worker in milliseconds; default 4,500: a check gives up after 5,000. */
  readonly queueMs?: number;
  /** Jobs that may wait, of one tenant; default 200. Of all: ten times that. */
  readonly maxQueued?: number;
  /** Characters of one job's texts; default 2,097,152. */
  readonly maxCharacters?: number;
  /** Memory of a worker's heap in MiB; default 96. */
  readonly maxHeapMb?: number;
  /** Steps that may run on the event loop in one turn (see TurnBudget). */
  readonly stepsPerTurn?: number;
}

interface Task {
  readonly owner: JobOwner;
  readonly job: Job;
  resolve(value: unknown): void;
  reject(failure: CheckFailure): void;
  timer: NodeJS.Timeout | undefined;
}

interface Slot {
  readonly worker: Worker;
  ready: boolean;
  task: Task | undefined;
  /** Processor time of the worker's thread when its task began, in microseconds. */
  cpuUs: number;
  /** When its task must be over, by the wall. */
  lastMs: number;
}

/** How often a job's time by the wall may be its processor time. */
const PATIENCE = 8;

const ENTRY = new URL('./worker.ts', import.meta.url);

/** Makes a sandbox; nothing is started before the first job. */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const {
    workers = Math.min(4, Math.max(2, availableParallelism() - 1)),
    deadlineMs = 500,
    queueMs = 4500,
    maxQueued = 200,
  } = options;
  const { maxCharacters = 2_097_152, maxHeapMb = 96 } = options;
  const queue = new FairQueue<Task>(Math.max(1, workers - 1));
  const turn = new TurnBudget(options.stepsPerTurn);
  const slots = new Set<Slot>();
  let closed = false;

  async function submit<T>(owner: JobOwner, job: Job): Promise<T> {
    refuse(owner, job);
    owner.budget?.left();
    return new Promise<T>((resolve, reject) => {
      const task: Task = { owner, job, resolve: resolve as Task['resolve'], reject, timer: undefined };
      task.timer = setTimeout(() => {
        queue.remove(owner, task);
        reject(new CheckFailure('OverloadedError', `no time for this check within ${queueMs} ms`));
      }, queueMs);
      queue.push(owner, task);
      serve();
    });
  }

  /** @throws CheckFailure */
  function refuse(owner: JobOwner, job: Job): void {
    if (closed) throw new CheckFailure('OverloadedError', 'the gateway is shutting down');
    if (charactersOf(job) > maxCharacters)
      throw new CheckFailure('InputTooLongError', `the text has more than ${maxCharacters} characters`);
    if (queue.lengthOf(owner) >= maxQueued || queue.length >= maxQueued * 10)
      throw new CheckFailure('OverloadedError', 'too many checks are waiting');
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
    const slot: Slot = { worker, ready: false, task: undefined, cpuUs: 0, lastMs: 0 };
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
    const ms = msOf(task);
    slot.lastMs = performance.now() + ms * PATIENCE;
    slot.worker.postMessage(task.job);
    watch(slot, task, ms);
  }

  function msOf({ job, owner }: Task): number {
    const own = job.kind === 'validate' ? deadlineMs * 2 : deadlineMs;
    try {
      return Math.min(own, owner.budget?.left() ?? own);
    } catch {
      return 1;
    }
  }

  /** Ends the task when its worker has computed for so long; one that was given no processor is waited for. */
  function watch(slot: Slot, task: Task, ms: number, inMs = ms): void {
    task.timer = setTimeout(async () => {
      const usage = await slot.worker.cpuUsage().catch(() => undefined);
      if (slot.task !== task) return;
      const usedMs = usage === undefined ? ms : (usage.user + usage.system - slot.cpuUs) / 1000;
      const leftMs = ms - usedMs;
      if (leftMs > 1 && performance.now() < slot.lastMs) watch(slot, task, ms, leftMs);
      else end(slot, new CheckFailure('TimeoutError', `ended after ${ms} ms`), usedMs);
    }, inMs);
  }

  /** The task of a slot is over: its time is charged. */
  function taken(slot: Slot, ms: number): Task | undefined {
    const { task } = slot;
    slot.task = undefined;
    if (task === undefined) return undefined;
    clearTimeout(task.timer);
    queue.done(task.owner, ms);
    task.owner.budget?.take(ms);
    return task;
  }

  function settle(slot: Slot, reply: Reply): void {
    if (reply.kind === 'ready') {
      slot.ready = true;
    } else {
      const task = taken(slot, (reply.cpuUs - slot.cpuUs) / 1000);
      if (reply.kind === 'done') task?.resolve(reply.value);
      else task?.reject(new CheckFailure(reply.name, reply.message));
    }
    slot.cpuUs = reply.cpuUs;
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

  function end(slot: Slot, failure: CheckFailure, usedMs = deadlineMs): void {
    slots.delete(slot);
    taken(slot, usedMs)?.reject(failure);
    slot.worker.terminate();
    // A worker that cannot start is not restarted without end: waiting jobs fail when their wait ends.
    if (slot.ready && !closed) serve();
  }

  return {
    match: (owner, pattern, texts, twice = false) => submit(owner, { kind: 'match', pattern, texts, twice }),
    replace: (owner, pattern, texts, by) => submit(owner, { kind: 'replace', pattern, texts, by }),
    validate: (owner, schema, texts) =>
      submit(owner, { kind: 'validate', schema: JSON.stringify(schema), texts }),
    async includes(owner, words, texts, twice = false) {
      // The worst that a search can take is the product of the lengths.
      const steps = lengthOf(texts) * (lengthOf(words) + (twice ? LOOK_STEPS : 0));
      if (!turn.take(twice ? 2 * steps : steps))
        return submit(owner, { kind: 'includes', words, texts, twice });
      return texts.map((text) => wordsIn(text, words, twice));
    },
    find: (owner, texts, keys) => submit(owner, { kind: 'find', texts, keys }),
    async examine(owner, work, texts) {
      if (turn.take(lengthOf(texts) * TEXT_WORK[work].steps)) return examine(work, texts);
      return submit(owner, { kind: 'examine', work, texts });
    },
    spare: (steps) => turn.take(steps),
    async close() {
      closed = true;
      for (const task of queue.drain()) {
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

/** Of the second look at a character, at worst. */
const LOOK_STEPS = 100;

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

function charactersOf({ texts }: Job): number {
  let sum = 0;
  for (const one of texts) sum += typeof one === 'string' ? one.length : one.text.length;
  return sum;
}
