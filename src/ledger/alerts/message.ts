// The text of an alert: as a mail, and as JSON for a webhook.
import { inDollars } from '../prices/price-list.ts';
import type { AlertBody } from './alert.ts';
import type { Audience } from './audience.ts';

/** The body of a webhook's request. Amounts are in what the limit counts: US dollars, tokens or requests. */
export interface AlertEvent {
  readonly type: 'usage_limit.threshold_reached' | 'usage_limit.exhausted';
  /** ISO 8601. */
  readonly timestamp: string;
  readonly data: {
    readonly organisation_id: string;
    readonly workspace_id: string | null;
    readonly owner: { readonly type: string; readonly id: string; readonly name: string };
    /** The group of a policy. */
    readonly value_key: string | null;
    readonly usage_limit: {
      readonly type: string;
      readonly credit_limit: number;
      readonly alert_threshold: number | null;
      readonly current_usage: number;
    };
  };
}

/** An alert as an event. */
export function eventOf(organisationId: string, alert: AlertBody, { owner }: Audience): AlertEvent {
  return {
    type: alert.level === 'threshold' ? 'usage_limit.threshold_reached' : 'usage_limit.exhausted',
    timestamp: new Date(alert.noticedAt).toISOString(),
    data: {
      organisation_id: organisationId,
      workspace_id: owner.workspaceId ?? null,
      owner: { type: owner.type, id: owner.id, name: owner.name },
      value_key: owner.valueKey ?? null,
      usage_limit: {
        type: alert.type,
        credit_limit: amountOf(alert, alert.cap),
        alert_threshold: alert.threshold === undefined ? null : amountOf(alert, alert.threshold),
        current_usage: amountOf(alert, alert.spent),
      },
    },
  };
}

/** An alert as a mail's subject and text. Names are callers' words: they stand in one line. */
export function mailOf(alert: AlertBody, { owner }: Audience): { subject: string; text: string } {
  const who = `${WORDS[owner.type] ?? owner.type} ${oneLine(owner.name) || owner.id}`;
  const [spent, cap] = [shown(alert, alert.spent), shown(alert, alert.cap)];
  const reached = alert.threshold === undefined ? '' : shown(alert, alert.threshold);
  const subject =
    alert.level === 'exhausted'
      ? `Usage limit exhausted: ${who}`
      : `Usage limit: ${who} has reached its alert threshold`;
  const lines = [
    alert.level === 'exhausted'
      ? `The usage limit of ${who} is used up: its calls are refused until it is raised or reset.`
      : `The usage of ${who} has reached the alert threshold of ${reached}.`,
    '',
    `Used: ${spent} of ${cap}`,
    ...(owner.valueKey === undefined ? [] : [`Group: ${oneLine(owner.valueKey)}`]),
    `Id: ${owner.id}`,
    `Time: ${new Date(alert.noticedAt).toISOString()}`,
    '',
  ];
  return { subject: subject.slice(0, 200), text: lines.join('\n') };
}

const WORDS: Readonly<Record<string, string>> = { api_key: 'API key', token: 'token (JWT)' };

function amountOf({ type }: AlertBody, digits: string): number {
  return type === 'cost' ? inDollars(BigInt(digits)) : Number(digits);
}

function shown(alert: AlertBody, digits: string): string {
  const amount = amountOf(alert, digits);
  return alert.type === 'cost' ? `$${amount}` : `${amount} ${alert.type}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
