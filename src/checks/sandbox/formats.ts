// The formats of JSON Schema that are checked, each in linear time; any other is a note and no rule
// (JSON Schema 2020-12, validation, part 7.2.1).
import { isIPv4, isIPv6 } from 'node:net';

const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  if (day === undefined) return false;
  const [y, m, d] = [Number(year), Number(month), Number(day)];
  const leap = (y % 4 === 0 && y % 100 !== 0) || y % 400 === 0;
  return m >= 1 && m <= 12 && d >= 1 && d <= (m === 2 && !leap ? 28 : (DAYS[m - 1] ?? 0));
}

function isTime(text: string): boolean {
  return /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i.test(text);
}

function isHostname(text: string): boolean {
  const labels = text.split('.');
  return text.length <= 253 && labels.every((label) => /^[a-z\d]([a-z\d-]{0,61}[a-z\d])?$/i.test(label));
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  return at > 0 && at <= 64 && /^[^\s@"(),:;<>[\\\]]+$/.test(local) && isHostname(text.slice(at + 1));
}

/** Formats by name. */
export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: isTime,
  'date-time': (text) => /^.{10}[t ]/i.test(text) && isDate(text.slice(0, 10)) && isTime(text.slice(11)),
  email: isEmail,
  hostname: isHostname,
  ipv4: isIPv4,
  ipv6: (text) => isIPv6(text) && !text.includes('%'),
  uri: (text) => /^[a-z][a-z\d+.-]*:[^\s<>"{}|\\^`]*$/i.test(text) && URL.canParse(text),
  uuid: (text) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text),
};
