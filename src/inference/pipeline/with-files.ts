// A job whose request names files of the gateway.
import type { Call } from '../../call/call.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { FileInputsPort } from './own-files-port.ts';
import type { Job } from './routed.ts';

/** The job with the files of its request replaced for each target; most jobs name none, and are returned as they are. */
export function withFiles<Request extends object, Answer extends object, Whole extends object>(
  { current: files }: FileInputsPort,
  call: Call,
  job: Job<Request, Answer, Whole>,
): Job<Request, Answer, Whole> {
  const { name, held } = job;
  if (files === undefined || !files.names(name, job.request)) return job;
  const resolved = (bound: BoundTarget, request: Request) => files.resolved(call, bound, name, request);
  return {
    ...job,
    attempt: async (bound, request, signal) => job.attempt(bound, await resolved(bound, request), signal),
    ...(held && {
      held: {
        whole: async (bound, request, signal) => held.whole(bound, await resolved(bound, request), signal),
        inPieces: (bound, request, whole) => held.inPieces(bound, request, whole),
      },
    }),
  };
}
