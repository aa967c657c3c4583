// default.log: sends a report of the call to an address. Its verdict is always true; the caller's headers are not sent.
import { CheckFailure } from './contract/check.ts';
import { defineCheck } from './contract/define.ts';
import { alias, required } from './contract/fields.ts';
import { callReport } from './outward/call-report.ts';
import { headersField, urlField } from './outward/headers.ts';
import { postJson } from './outward/post-json.ts';

export const log = defineCheck({
  id: 'default.log',
  events: ['input', 'output'],
  timeoutMs: 3000,
  fields: { logURL: required(alias(urlField, 'logUrl')), headers: headersField },
  async run(context, { logURL, headers }, deps) {
    const { status } = await postJson(deps, {
      url: logURL,
      param: 'logURL',
      headers,
      body: callReport(context),
    });
    const message = `the log answered with status ${status}`;
    const { origin, pathname } = new URL(logURL);
    return status >= 200 && status <= 299
      ? { verdict: true, data: { message: `Logged the request to ${origin}${pathname}` } }
      : { verdict: true, data: null, error: new CheckFailure('CallFailedError', message) };
  },
});
