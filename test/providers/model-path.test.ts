// A model's name inside a path: what it may be, and what it is then.
import test from 'ava';
import { GatewayError } from '../../src/lib/errors.ts';
import { modelPath } from '../../src/providers/model-path.ts';

test('slashes stay, all else is escaped', (t) => {
  t.is(modelPath('meta-llama/Llama 3?'), 'meta-llama/Llama%203%3F');
  t.is(modelPath('ünï'), '%C3%BCn%C3%AF');
});

test('names that would leave the path, or are no text, are the caller’s fault', (t) => {
  for (const model of ['', '..', 'a//b', 'a/../b', '\ud800', 'a\udc00b']) {
    const error = t.throws(() => modelPath(model), { instanceOf: GatewayError });
    t.is(error?.reason, 'validation_failed', JSON.stringify(model));
  }
});
