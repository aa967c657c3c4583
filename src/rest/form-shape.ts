// Methods whose REST request is a multipart form, and those whose REST answer is bytes: read off the contract once.
import type { DescField, DescMessage, DescMethod } from '@bufbuild/protobuf';
import { bytes_answer, form_body, json_body } from '../../gen/gateway/options/v2/options_pb.ts';
import { optionOf } from '../lib/contract-options.ts';

/** The messages of a form's request: a oneof `kind` of head, file, chunk and tail. */
export interface FormShape {
  /** Of the head and of the tail: the form's texts. */
  readonly head: DescMessage;
  /** Whether the request may be JSON: the head alone. */
  readonly orJson: boolean;
}

const forms = new WeakMap<DescMethod, FormShape | false>();
const answers = new WeakMap<DescMethod, boolean>();

/** Undefined: its request is no form. @throws Error for a method whose messages do not fit the option */
export function formOf(method: DescMethod): FormShape | undefined {
  let form = forms.get(method);
  if (form === undefined) {
    form = optionOf(method, form_body) && readForm(method);
    forms.set(method, form);
  }
  return form === false ? undefined : form;
}

/** Whether a method's answer is bytes over REST. */
export function answersBytes(method: DescMethod): boolean {
  let answer = answers.get(method);
  if (answer === undefined) {
    answer = optionOf(method, bytes_answer);
    answers.set(method, answer);
  }
  return answer;
}

function readForm(method: DescMethod): FormShape {
  const fields = new Map(method.input.fields.map((field): [string, DescField] => [field.name, field]));
  const [head, tail] = [fields.get('head')?.message, fields.get('tail')?.message];
  const hasFiles = fields.get('file')?.message !== undefined && fields.has('chunk');
  if (head === undefined || head !== tail || !hasFiles || !takesMany(method))
    throw new Error(`${method.name}: a form's messages are head, file, chunk and tail, in a stream`);
  return { head, orJson: optionOf(method, json_body) };
}

function takesMany({ methodKind }: DescMethod): boolean {
  return methodKind === 'client_streaming' || methodKind === 'bidi_streaming';
}
