// The call as it stands while hooks run over it.
import type { CheckContext } from '../contract/check.ts';
import { requestBody, responseBody } from '../view/body-of.ts';
import type { JsonObject, Traffic } from '../view/traffic.ts';

/** The input of a check: the present call, and which sides were written to. */
export type Run = Pick<CheckContext, 'event' | 'traffic' | 'transformed'>;

/** The call with a body as a check wrote it. */
export function withWritten(run: Run, written: { request?: JsonObject; response?: JsonObject }): Run {
  const { traffic, transformed } = run;
  const { request, response } = written;
  const changed: Traffic = {
    ...traffic,
    request: request === undefined ? traffic.request : requestBody(traffic.api, request),
    response:
      response === undefined || traffic.response === undefined
        ? traffic.response
        : { ...responseBody(traffic.api, response), status: traffic.response.status },
  };
  return {
    ...run,
    traffic: changed,
    transformed: {
      request: transformed.request || request !== undefined,
      response: transformed.response || response !== undefined,
    },
  };
}
