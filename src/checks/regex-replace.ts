// default.regexReplace: what a pattern finds is replaced, in every text that is examined, tool calls included.
import type { CheckContext, CheckOutcome } from './contract/check.ts';
import { defineCheck } from './contract/define.ts';
import { defaulted, flag, required, text } from './contract/fields.ts';
import { LONGEST_PATTERN, requirePattern } from './contract/pattern.ts';
import type { Pattern } from './sandbox/sandbox.ts';
import { bodyOf, examinedSlots, requireReadable } from './view/examined.ts';
import { rewriteSlots } from './view/rewrite.ts';

/** `/source/flags`, or a source alone. Every match is replaced, whether the flags say so or not. */
function patternOf(rule: string): Pattern {
  const [, source, flags = ''] = /^\/([\s\S]+)\/([dgimsuvy]*)$/.exec(rule) ?? [];
  if (source === undefined) return { source: rule, flags: 'g' };
  return { source, flags: flags.includes('g') ? flags : `${flags}g` };
}

export const regexReplace = defineCheck({
  id: 'default.regexReplace',
  events: ['input', 'output'],
  rewrites: true,
  fields: {
    rule: required(text(LONGEST_PATTERN)),
    redactText: defaulted(text(10_000, 0), '[REDACTED]'),
    failOnDetection: flag(),
  },
  validate: ({ rule }, fault) => requirePattern(patternOf(rule), 'rule', fault),
  async run(context, { rule, redactText, failOnDetection }, { sandbox }): Promise<CheckOutcome> {
    requireReadable(context);
    let count = 0;
    const json = await rewriteSlots(bodyOf(context).json, examinedSlots(context, true), async (texts) => {
      const replaced = await sandbox.replace(context.traffic, patternOf(rule), texts, redactText);
      count = replaced.reduce((sum, one) => sum + one.count, 0);
      return replaced.map((one) => one.text);
    });
    const verdict = !(failOnDetection && count > 0);
    const explanation =
      count > 0
        ? `Pattern '${rule}' matched and was replaced with '${redactText}'`
        : `The regex pattern '${rule}' did not match any text.`;
    return {
      verdict,
      data: { regexPattern: rule, verdict, explanation, matchCount: count },
      ...(json === undefined ? {} : { transformed: transformedOf(context, json) }),
    };
  },
});

function transformedOf({ event }: CheckContext, json: Readonly<Record<string, unknown>>) {
  return event === 'input' ? { request: json } : { response: json };
}
