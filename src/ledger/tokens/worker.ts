// Counts tokens off the event loop, in OpenAI's newest encoding: near enough for other providers' texts.
import { parentPort } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

parentPort?.on('message', ([id, texts]: [number, readonly string[]]) => {
  // What looks like a special token in a caller's text is text.
  const counts = texts.map((text) =>
    countTokens(text, { allowedSpecial: new Set(), disallowedSpecial: new Set() }),
  );
  parentPort?.postMessage([id, counts]);
});
