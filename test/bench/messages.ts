// Messages and Responses over a chat wire, next to what the reference and nginx do with chat: a translation in both directions.
import { atLeast, faultsOf } from './cases.ts';
import type { Shot } from './jobs.ts';
import type { Lab, Target } from './lab.ts';
import { eventCosts, type FormName } from './message-events.ts';
import type { Options } from './options.ts';
import { chatRequest, responseRequest, STREAM_EVENTS, streamRequest } from './payloads.ts';
import type { CaseReport, Verdict } from './report.ts';
import { measure } from './rounds.ts';

const CONNECTIONS = 32;
const BYTES = 500;

interface Form {
  readonly path: string;
  /** Whose wire is chat alone. */
  readonly provider: string;
  readonly whole: string;
  readonly stream: string;
  /** Events in place of the first and the last of a chat stream. */
  readonly framing: number;
  readonly ending: string;
}

const FORMS: Readonly<Record<FormName, Form>> = {
  messages: {
    path: '/v1/messages',
    provider: 'openai',
    whole: chatRequest(BYTES),
    stream: streamRequest('burst', true),
    // message_start, ping, the block's begin and end, message_delta and message_stop.
    framing: 6,
    ending: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  },
  responses: {
    path: '/v1/responses',
    provider: 'openai-compatible',
    whole: responseRequest(BYTES),
    stream: responseRequest(BYTES, 'burst'),
    // created, in_progress, the item's and the part's begin, the text's, the part's and the item's end, completed.
    framing: 8,
    ending: '}}\n\n',
  },
};

/** Whole answers. */
export async function formWhole(lab: Lab, options: Options, form: FormName): Promise<CaseReport> {
  const measured = await measure(lab, options, lab.targets('chat'), {
    connections: CONNECTIONS,
    shot: (target) => shotOf(target, form, 'whole', chatRequest(BYTES)),
  });
  return {
    name: `${form}-whole`,
    title: `${titleOf(form)} over a chat wire (the others: chat), prompt of 0.5 KB, ${CONNECTIONS} connections`,
    measured,
    verdicts: [atLeast(`${form} whole, times the reference's rate of chat`, measured, 'reference', 4)],
    faults: faultsOf(measured),
  };
}

/** Streams, and what one event costs. */
export async function formStream(lab: Lab, options: Options, form: FormName): Promise<CaseReport> {
  const measured = await measure(lab, options, lab.targets('stream'), {
    connections: CONNECTIONS,
    brief: true,
    shot: (target) => {
      const shot = shotOf(target, form, 'stream', streamRequest('burst'));
      if (target.name !== 'sluice') return { ...shot, events: STREAM_EVENTS };
      return { ...shot, events: STREAM_EVENTS - 2 + FORMS[form].framing, ending: FORMS[form].ending };
    },
  });
  const { native, translated } = eventCosts(form);
  return {
    name: `${form}-stream`,
    title: `Streams of ${form} over a chat wire (the others: chat), ${STREAM_EVENTS} events at once`,
    measured,
    figures: { 'native event, us': native, 'translated event, us': translated },
    verdicts: [
      atLeast(`${form} streamed, times the reference's rate of chat`, measured, 'reference', 6),
      atMost(`a native event of ${form}, us`, native, 5),
      atMost(`a translated event of ${form}, us`, translated, 15),
    ],
    faults: faultsOf(measured),
  };
}

function titleOf(form: FormName): string {
  return form === 'messages' ? 'Messages' : 'Responses';
}

function atMost(rule: string, found: number, most: number): Verdict {
  return { rule: `${rule}, at most ${most}`, found: found.toFixed(2), holds: found <= most };
}

/** Only this gateway is asked in the form; the others are asked for chat. */
function shotOf(target: Target, form: FormName, kind: 'whole' | 'stream', chat: string): Shot {
  const { path, provider, [kind]: body } = FORMS[form];
  const method = 'POST';
  if (target.name !== 'sluice')
    return { url: `${target.origin}/v1/chat/completions`, method, headers: target.headers, body: chat };
  const headers = { ...target.headers, 'x-gateway-provider': provider };
  return { url: `${target.origin}${path}`, method, headers, body };
}
