// Gives memory back to the system while there is little to do.
//
// V8 has a task for that, the memory reducer, but it waits for a low rate of allocation, and measures that rate at
// collections: after a burst no collection comes, the rate stays what it was, and the heap, its free pages and the array
// buffers that garbage still refers to stay resident for ever (measured: 640 to 740 MB after 9,600 calls with prompts of
// 50 KB, of which 47 MB were alive). In its memory saver mode V8 does not ask for the rate. The mode has two costs: under
// load, three times the CPU time of such calls, and after it, code that was thrown away and is compiled anew (a gateway
// whose calls came in rounds, 5 s apart, answered two thirds of the calls per CPU second). So it is on only while the
// event loop is idle and much memory is resident, once after each busy time.
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';

const LOOK_MS = 1000;
/** Share of the time that the event loop is busy: below the first the mode goes on, above the second off. */
const IDLE_BELOW = 0.15;
const BUSY_ABOVE = 0.3;
/** How often in a row the loop is seen idle before the mode goes on. */
const LOOKS = 2;
/** How long the mode stays on; the reducer's collections need about 6 s. */
const SAVING_LOOKS = 10;
/** The reducer's delay before its incremental collections while the mode is on, and V8's own. */
const REDUCER_DELAY_MS = 2000;
const USUAL_DELAY_MS = 8000;

/**
 * Watches this thread's event loop from now on, and lets V8 give memory back while it is idle: two incremental
 * collections some seconds after the last burst, of the threads of this process too. Returns the function that stops it.
 * @param above bytes of resident memory from which on there is something to give back
 */
export function giveMemoryBackWhenIdle(above: number): () => void {
  let before = performance.eventLoopUtilization();
  let idleLooks = 0;
  let saving = false;
  let wasBusy = true;
  const save = (on: boolean): void => {
    saving = on;
    setFlagsFromString(`--gc-memory-reducer-start-delay-ms=${on ? REDUCER_DELAY_MS : USUAL_DELAY_MS}`);
    setFlagsFromString(on ? '--memory-saver-mode' : '--no-memory-saver-mode');
  };
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    idleLooks = utilization < IDLE_BELOW ? idleLooks + 1 : 0;
    if (utilization > BUSY_ABOVE) wasBusy = true;
    if (saving && (utilization > BUSY_ABOVE || idleLooks > LOOKS + SAVING_LOOKS)) save(false);
    else if (!saving && wasBusy && idleLooks >= LOOKS && process.memoryUsage.rss() > above) {
      wasBusy = false;
      save(true);
    }
  }, LOOK_MS).unref();
  return () => {
    clearInterval(timer);
    if (saving) save(false);
  };
}
