// Judging a long text takes no longer than judging its beginning.
import { create, type DescField, getOption, hasOption } from '@bufbuild/protobuf';
import test from 'ava';
import { field as fieldOption, type StringRules } from '../../gen/buf/validate/validate_pb.ts';
import { PromptsService } from '../../gen/gateway/admin/v2/prompts_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { contractValidator, JUDGED_CHARS } from '../../src/rpc/validator.ts';
import { startGateway } from '../support/gateway.ts';

const LONG = 'x'.repeat(JUDGED_CHARS + 1);

test('texts that are too long are refused, long ones that may be are not, and neither is changed', (t) => {
  const validator = contractValidator();
  const prompt = create(PromptsService.method.createPrompt.input, { name: LONG, string: 's' });
  const refused = validator.validate(PromptsService.method.createPrompt.input, prompt);
  t.true(refused.kind === 'invalid' && refused.violations.some(({ ruleId }) => ruleId === 'string.max_len'));
  t.is(prompt.name.length, LONG.length);
  const desc = ChatService.method.createChatCompletion.input;
  const chat = create(desc, { model: 'm', user: LONG, messages: [{ role: 'user' }] });
  t.is(validator.validate(desc, chat).kind, 'valid');
  t.is(chat.user, LONG);
  t.is(validator.validate(desc, create(desc, { model: 'm', user: LONG })).kind, 'invalid');
});

test('the beginning of a long text is enough to judge it by any rule of the contract', async (t) => {
  const gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
  t.teardown(() => gateway.close());
  let rules = 0;
  for (const service of gateway.app.rpc.methods.services)
    for (const { input } of service.methods)
      for (const field of input.fields)
        for (const { pattern, maxLen } of stringRules(field)) {
          rules++;
          t.true(Number(maxLen ?? 0n) < JUDGED_CHARS / 2, `${field}`);
          if (pattern !== undefined && maxLen === undefined)
            t.false(new RegExp(pattern, 'u').test('a'.repeat(JUDGED_CHARS)), `${field}: ${pattern}`);
        }
  t.true(rules > 100);
});

function stringRules(field: DescField): StringRules[] {
  if (!hasOption(field, fieldOption)) return [];
  const { type } = getOption(field, fieldOption);
  if (type.case === 'string') return [type.value];
  const items = type.case === 'repeated' ? type.value.items?.type : undefined;
  return items?.case === 'string' ? [items.value] : [];
}
