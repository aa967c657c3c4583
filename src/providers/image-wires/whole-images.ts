// Images of providers that answer whole: a streamed request gets one finished image an event.
import type { CreateImageRequest, ImageEvent, Images } from '../../../gen/gateway/inference/v2/images_pb.ts';
import type { StreamingOperation, StreamTranslator } from '../dialect.ts';
import { imageEvents } from '../images.ts';
import type { ImageWire } from './wire.ts';

/** The operation in both forms. */
export function wholeImages({
  request,
  response,
}: ImageWire): StreamingOperation<CreateImageRequest, Images, ImageEvent> {
  return {
    request,
    response,
    streamRequest: request,
    stream: notStreamed,
    answersWhole: () => true,
    wholeAsChunks: (answer) => imageEvents(answer, 'image_generation'),
  };
}

function notStreamed(): StreamTranslator<ImageEvent> {
  throw new Error('an answer that is whole has no events');
}
