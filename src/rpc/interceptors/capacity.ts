// Bounds the calls in flight of the process, before a caller is known.
import type { Interceptor } from '../handler.ts';
import { tooMany } from './in-flight.ts';

/** The bound on calls in flight. */
export interface CallCapacity {
  /** False: too many are in flight, and the call is refused. Else `leave` follows. */
  begin(): boolean;
  leave(): void;
}

export function capacityInterceptor(capacity: CallCapacity): Interceptor {
  const leave = (): void => capacity.leave();
  return () => (next) => (input, call) => {
    if (!capacity.begin()) throw tooMany();
    call.atEnd(leave);
    return next(input, call);
  };
}
