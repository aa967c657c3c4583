// Images and OCR, over every protocol.
import test from 'ava';
import { ImagesService } from '../../gen/gateway/inference/v2/images_pb.ts';
import { OcrService } from '../../gen/gateway/inference/v2/ocr_pb.ts';
import { type Bench, type Case, invalid, type Json, runCases, sentJson, startBench } from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const { createImage } = ImagesService.method;
const { createOcr } = OcrService.method;
const ASKED = { model: 'gpt-image-1', prompt: 'a lamp' };
const READ = { model: 'ocr-ok', document: { type: 'document_url', document_url: 'https://docs.example/a' } };
const IMAGE = 'iVBORw0KGgo=';
const compatible = { 'x-gateway-provider': 'openai-compatible' };
const mistral = { 'x-gateway-provider': 'mistral-ai' };

const refused = (name: string, change: Record<string, Json>, field: string): Case => ({
  name: `images with ${name} are refused`,
  method: createImage,
  body: { ...ASKED, ...change },
  refused: invalid(field),
});
const unread = (name: string, change: Record<string, Json>, field: string): Case => ({
  name: `OCR with ${name} is refused`,
  method: createOcr,
  headers: mistral,
  body: { ...READ, ...change },
  refused: invalid(field),
});

const CASES: Case[] = [
  {
    name: 'images go out as they came, with members of the provider, and come back as they are',
    method: createImage,
    body: { ...ASKED, n: 2, size: '1024x1024', quality: 'low', vendor: [1] },
    check: (t, answer) => {
      t.regex(answer.sent[0]!.url, /\/images\/generations$/);
      t.deepEqual(sentJson(t, answer), { ...ASKED, n: 2, size: '1024x1024', quality: 'low', vendor: [1] });
      t.is((answer.json.data as Json[]).length, 2);
      t.deepEqual(answer.json.usage, {
        input_tokens: 10,
        output_tokens: 20,
        total_tokens: 30,
        input_tokens_details: { text_tokens: 10, image_tokens: 0 },
      });
    },
  },
  {
    name: 'images in events: unfinished ones, then the finished one with its usage',
    method: createImage,
    body: { ...ASKED, stream: true, partial_images: 2 },
    check: (t, { events }) => {
      t.deepEqual(
        events.map(({ type, partial_image_index: index }) => [type, index]),
        [
          ['image_generation.partial_image', 0],
          ['image_generation.partial_image', 1],
          ['image_generation.completed', undefined],
        ],
      );
      t.is(events[2]!.b64_json, IMAGE);
    },
  },
  {
    name: 'a provider that does not stream gives one finished image an event',
    method: createImage,
    headers: { 'x-gateway-provider': 'hyperbolic' },
    body: { model: 'flux', prompt: 'a lamp', stream: true },
    check: (t, { events, sent }) => {
      t.regex(sent[0]!.url, /\/image\/generation$/);
      t.deepEqual(
        events.map(({ type, b64_json: image }) => [type, image]),
        [['image_generation.completed', IMAGE]],
      );
    },
  },
  {
    name: "other providers' own values pass",
    method: createImage,
    headers: compatible,
    body: {
      model: 'm',
      prompt: 'a lamp',
      size: '16:9',
      quality: 'ultra',
      style: 'noir',
      output_format: 'avif',
    },
    check: (t, answer) =>
      t.deepEqual(sentJson(t, answer), {
        model: 'm',
        prompt: 'a lamp',
        size: '16:9',
        quality: 'ultra',
        style: 'noir',
        output_format: 'avif',
      }),
  },
  {
    name: 'a provider without images is told so, and not called',
    method: createImage,
    headers: { 'x-gateway-provider': 'deepseek' },
    body: ASKED,
    refused: { status: 400, code: 12, reason: 'operation_unsupported', param: '' },
  },
  refused('an empty prompt', { prompt: '' }, 'prompt'),
  { ...refused('no prompt', { prompt: null }, 'prompt'), over: ['rest'] },
  refused('a prompt that is too long', { prompt: 'x'.repeat(32_001) }, 'prompt'),
  refused('none of them', { n: 0 }, 'n'),
  refused('too many of them', { n: 11 }, 'n'),
  refused('compression over 100', { output_compression: 101 }, 'output_compression'),
  refused('four unfinished ones', { partial_images: 4 }, 'partial_images'),
  refused('a quality that OpenAI has not', { quality: 'best' }, 'quality'),
  refused('a style that OpenAI has not', { style: 'noir' }, 'style'),
  refused('a size that is none', { size: 'huge' }, 'size'),
  refused('a size that the model has not', { size: '512x512' }, 'size'),
  refused('a background that OpenAI has not', { background: 'red' }, 'background'),
  refused('a moderation that OpenAI has not', { moderation: 'none' }, 'moderation'),
  refused('a format that OpenAI has not', { output_format: 'gif' }, 'output_format'),
  refused('a response format that OpenAI has not', { response_format: 'xml' }, 'response_format'),
  refused('two of dall-e-3', { model: 'dall-e-3', n: 2 }, 'n'),
  { ...refused('a number as the prompt', { prompt: 5 }, 'prompt'), over: ['rest'] },
  {
    name: 'OCR goes out as it came',
    method: createOcr,
    headers: mistral,
    body: { ...READ, pages: [0], include_image_base64: true, table_format: 'html' },
    check: (t, answer) => {
      t.regex(answer.sent[0]!.url, /\/ocr$/);
      t.deepEqual(sentJson(t, answer), {
        ...READ,
        pages: [0],
        include_image_base64: true,
        table_format: 'html',
      });
      t.deepEqual(answer.json.usage_info, { pages_processed: 1, doc_size_bytes: 9 });
    },
  },
  unread('no model', { model: '' }, 'model'),
  unread('a document without a type', { document: { document_url: 'x' } }, 'document.type'),
  unread('a negative number of pictures', { image_limit: -1 }, 'image_limit'),
];

runCases(test, () => bench, CASES);
