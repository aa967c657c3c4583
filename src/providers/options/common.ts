// Options of every stored provider: how it is called, not what the provider reads.
import type { OptionSpec } from './spec.ts';

export const COMMON_OPTIONS: readonly OptionSpec[] = [
  { name: 'custom_host', type: 'host', effect: 'address', from: ['stored'] },
  { name: 'custom_headers', type: 'headers', effect: 'account', from: ['stored'], secret: true },
  { name: 'is_key_required', type: 'flag', effect: 'account', from: ['stored'], keylessWith: [false] },
];
