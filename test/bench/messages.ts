// Messages over OpenAI's wire, next to what the reference and nginx do with chat: a translation in both directions.
import { atLeast, faultsOf } from './cases.ts';
import type { Shot } from './jobs.ts';
import type { Lab, Target } from './lab.ts';
import { messageEventCosts } from './message-events.ts';
import type { Options } from './options.ts';
import { chatRequest, STREAM_EVENTS, streamRequest } from './payloads.ts';
import type { CaseReport, Verdict } from './report.ts';
import { measure } from './rounds.ts';

const CONNECTIONS = 32;
const BYTES = 500;
const MESSAGE_END = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

/** Whole answers. */
export async function messagesWhole(lab: Lab, options: Options): Promise<CaseReport> {
  const measured = await measure(lab, options, lab.targets('chat'), {
    connections: CONNECTIONS,
    shot: (target) => shotOf(target, chatRequest(BYTES)),
  });
  return {
    name: 'messages-whole',
    title: `Messages over OpenAI's wire (the others: chat), prompt of 0.5 KB, ${CONNECTIONS} connections`,
    measured,
    verdicts: [atLeast("messages whole, times the reference's rate of chat", measured, 'reference', 4)],
    faults: faultsOf(measured),
  };
}

/** Streams, and what one event costs. */
export async function messagesStream(lab: Lab, options: Options): Promise<CaseReport> {
  const measured = await measure(lab, options, lab.targets('stream'), {
    connections: CONNECTIONS,
    brief: true,
    shot: (target) => ({
      ...shotOf(target, streamRequest('burst', target.name === 'sluice')),
      // message_start, ping, the block's begin and end, message_delta and message_stop in place of the first and the last.
      events: target.name === 'sluice' ? STREAM_EVENTS + 4 : STREAM_EVENTS,
      ...(target.name === 'sluice' ? { ending: MESSAGE_END } : {}),
    }),
  });
  const { native, translated } = messageEventCosts();
  return {
    name: 'messages-stream',
    title: `Streams of messages over OpenAI's wire (the others: chat), ${STREAM_EVENTS} events at once`,
    measured,
    figures: { 'native event, us': native, 'translated event, us': translated },
    verdicts: [
      atLeast("messages streamed, times the reference's rate of chat", measured, 'reference', 6),
      atMost('a native event, us', native, 5),
      atMost('a translated event, us', translated, 15),
    ],
    faults: faultsOf(measured),
  };
}

function atMost(rule: string, found: number, most: number): Verdict {
  return { rule: `${rule}, at most ${most}`, found: found.toFixed(2), holds: found <= most };
}

/** Only this gateway is asked for messages. */
function shotOf(target: Target, body: string): Shot {
  const path = target.name === 'sluice' ? '/v1/messages' : '/v1/chat/completions';
  return { url: `${target.origin}${path}`, method: 'POST', headers: target.headers, body };
}
