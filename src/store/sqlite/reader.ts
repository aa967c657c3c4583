// The reader worker: a thread of its own for reads, once there are many of them (see on-demand-reader.ts).
import { openReader } from './open-reader.ts';
import type { ReaderCall } from './protocol.ts';
import { serve } from './worker-loop.ts';

/** Calls answered together: few, so that none waits long for a slower one in its group. */
const GROUP = 8;

serve<ReaderCall>(GROUP, openReader);
