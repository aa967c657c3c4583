// Gives memory back to the system while there is little to do.
//
// V8 has a task for that, the memory reducer, but it waits for a low rate of allocation, and measures that rate at
// collections: after a burst no collection comes, the rate stays what it was, and the heap, its free pages and the array
// buffers that garbage still refers to stay resident for ever (measured: 640 to 740 MB after 9,600 calls with prompts of
// 50 KB, of which 47 MB were alive). In its memory saver mode V8 does not ask for the rate. The mode has two costs: under
// load, three times the CPU time of such calls, and after it, code that was thrown away and is compiled anew (measured: the
// first second of the next burst takes 2.3 times the CPU time). So it is on only after a minute without load, where much
// memory is resident, once after each busy time; outside of it the reducer is off.
//
// A start is such a burst, too: evaluating the modules lets the young generation grow to its largest size (measured: 137 MB
// resident until 10 s after it, 123 MB from the third second on with the mode). The engine is in the mode from the beginning,
// by SAVING_AT_START on its command line, and leaves it with the first busy second.
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_MS = 1000;
/** Share of the time that the event loop is busy: below the first the mode goes on, above the second off. */
const IDLE_BELOW = 0.15;
const BUSY_ABOVE = 0.3;
/** The same while the engine is still in it from its start, whose first calls load much. */
const BUSY_AT_START = 0.6;
/** How long it stays on after a start at the most, idle or not. */
const START_LOOKS = 20;
/** Seconds that the loop is idle before the mode goes on: bursts that come sooner have their code and their room. */
const IDLE_SECONDS = 60;
/** How long the mode stays on; the reducer's collections need about 6 s. */
const SAVING_LOOKS = 10;
/** The reducer's delay before its incremental collections while the mode is on, and V8's own. */
const REDUCER_DELAY_MS = 2000;
const USUAL_DELAY_MS = 8000;

const MODE = '--memory-saver-mode';
const REDUCER = '--memory-reducer';
/**
 * Outside of the mode. The reducer comes by itself some seconds after a burst, drops the shapes of objects that have no
 * object just then, and with them all compiled code that knows them.
 */
const NO_REDUCER = '--no-memory-reducer';

/** Options of the engine for a process that is to watch its memory from its start on. */
export const SAVING_AT_START: readonly string[] = hasMode()
  ? [MODE, '--gc-memory-reducer-start-delay-ms=1500']
  : [];

/** An older engine ends with an option that it does not know. */
function hasMode(): boolean {
  return Number.parseInt(process.versions.v8, 10) >= 13;
}

/**
 * Watches this thread's event loop from now on, and lets V8 give memory back while it is idle: two incremental
 * collections some seconds after the last burst, of the threads of this process too. Returns the function that stops it.
 * @param above bytes of resident memory from which on there is something to give back
 * @param seconds of idleness before it
 */
export function giveMemoryBackWhenIdle(above: number, seconds: number = IDLE_SECONDS): () => void {
  if (!hasMode()) return () => {};
  let before = performance.eventLoopUtilization();
  let idleLooks = 0;
  let saving = process.execArgv.includes(MODE);
  let startLooks = saving ? START_LOOKS : 0;
  let wasBusy = !saving;
  const save = (on: boolean): void => {
    saving = on;
    setFlagsFromString(`--gc-memory-reducer-start-delay-ms=${on ? REDUCER_DELAY_MS : USUAL_DELAY_MS}`);
    setFlagsFromString(on ? MODE : '--no-memory-saver-mode');
    setFlagsFromString(on ? REDUCER : NO_REDUCER);
  };
  if (!saving) save(false);
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    idleLooks = utilization < IDLE_BELOW ? idleLooks + 1 : 0;
    if (utilization > BUSY_ABOVE) wasBusy = true;
    const isBusy = utilization > (startLooks > 0 ? BUSY_AT_START : BUSY_ABOVE);
    const isOver = idleLooks > seconds + SAVING_LOOKS || (startLooks > 0 && --startLooks === 0);
    if (saving && (isBusy || isOver)) {
      startLooks = 0;
      save(false);
    }
    if (!saving && wasBusy && idleLooks >= seconds && process.memoryUsage.rss() > above) {
      wasBusy = false;
      save(true);
      wakeReducer();
    }
  }, LOOK_MS).unref();
  return () => {
    clearInterval(timer);
    if (saving) save(false);
  };
}

type Collect = (options: { readonly type: 'major' }) => void;

/** The reducer looks at its rates after a collection: there is none without calls. */
function wakeReducer(): void {
  setFlagsFromString('--expose-gc');
  // Undefined when another thread took the flag, which belongs to the whole process, away again: later collections wake it.
  const collect = runInNewContext('globalThis.gc') as Collect | undefined;
  setFlagsFromString('--no-expose-gc');
  collect?.({ type: 'major' });
}
