// An operation whose answers come whole, over another one of a dialect.
import type { Operation } from '../dialect.ts';
import type { WholeForm } from './form.ts';

/** The form's operation over the dialect's. */
export function overWhole<Request extends object, Answer, OtherRequest, OtherAnswer>(
  form: WholeForm<Request, Answer, OtherRequest, OtherAnswer>,
  operation: Operation<OtherRequest, OtherAnswer>,
): Operation<Request, Answer> {
  return {
    request(request, context) {
      const { other, lost } = form.to(request);
      context.lost?.(lost);
      return operation.request(other, context);
    },
    response(body, request, context) {
      const { answer, ...rest } = operation.response(body, form.to(request).other, context);
      return { ...rest, answer: form.answer(answer, request) };
    },
  };
}
