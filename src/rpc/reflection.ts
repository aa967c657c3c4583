// gRPC's standard reflection service, under both of its names, so that grpcurl and
// `buf curl` need no proto files.
import type { DescFile, DescService } from '@bufbuild/protobuf';
import { createRegistry, type Registry, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter } from '@connectrpc/connect';
import { Code } from '@connectrpc/connect';
import { Health } from '../../gen/grpc/health/v1/health_pb.ts';
import type { ServerReflectionRequest } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as V1 } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as V1Alpha } from '../../gen/grpc/reflection/v1alpha/reflection_pb.ts';

/** Both names of the service. */
export const REFLECTION_NAMES = [V1.typeName, V1Alpha.typeName];

type Answer =
  | { case: 'fileDescriptorResponse'; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: 'allExtensionNumbersResponse'; value: { baseTypeName: string; extensionNumber: number[] } }
  | { case: 'listServicesResponse'; value: { service: { name: string }[] } }
  | { case: 'errorResponse'; value: { errorCode: number; errorMessage: string } };

interface Known {
  readonly registry: Registry;
  readonly files: ReadonlyMap<string, DescFile>;
}

/** Answers about the given services and the reflection services themselves. */
export function registerReflection(router: ConnectRouter, served: readonly DescService[]): void {
  const services = [...served, Health, V1, V1Alpha];
  const files = closure(services.map((service) => service.file));
  const known: Known = {
    registry: createRegistry(...files),
    files: new Map(files.map((f) => [`${f.name}.proto`, f])),
  };
  const answer = (request: ServerReflectionRequest): Answer => answerOf(request, services, known);
  router.service(V1, {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        yield { validHost: request.host, originalRequest: request, messageResponse: answer(request) };
      }
    },
  });
  router.service(V1Alpha, {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        const { $typeName: _, ...same } = request;
        const asV1 = {
          ...same,
          $typeName: 'grpc.reflection.v1.ServerReflectionRequest',
        } as ServerReflectionRequest;
        yield { validHost: request.host, originalRequest: request, messageResponse: answer(asV1) };
      }
    },
  });
}

function answerOf(
  request: ServerReflectionRequest,
  services: readonly DescService[],
  { registry, files }: Known,
): Answer {
  const { messageRequest: asked } = request;
  switch (asked.case) {
    case 'listServices':
      return {
        case: 'listServicesResponse',
        value: { service: services.map((s) => ({ name: s.typeName })) },
      };
    case 'fileByFilename':
      return fileAnswer(files.get(asked.value), asked.value);
    case 'fileContainingSymbol':
      return fileAnswer(fileOfSymbol(registry, asked.value), asked.value);
    case 'fileContainingExtension': {
      const { containingType, extensionNumber } = asked.value;
      const found = [...registry].find(
        (type) =>
          type.kind === 'extension' &&
          type.extendee.typeName === containingType &&
          type.number === extensionNumber,
      );
      return fileAnswer(found?.file, containingType);
    }
    case 'allExtensionNumbersOfType': {
      const numbers = [...registry].flatMap((type) =>
        type.kind === 'extension' && type.extendee.typeName === asked.value ? [type.number] : [],
      );
      return {
        case: 'allExtensionNumbersResponse',
        value: { baseTypeName: asked.value, extensionNumber: numbers },
      };
    }
    default:
      return {
        case: 'errorResponse',
        value: { errorCode: Code.InvalidArgument, errorMessage: 'nothing was asked' },
      };
  }
}

/** A symbol may name a type, or a field, method or value inside one. */
function fileOfSymbol(registry: Registry, symbol: string): DescFile | undefined {
  const type = registry.get(symbol) ?? registry.get(symbol.slice(0, symbol.lastIndexOf('.')));
  return type?.file;
}

function fileAnswer(file: DescFile | undefined, asked: string): Answer {
  if (file === undefined) {
    return {
      case: 'errorResponse',
      value: { errorCode: Code.NotFound, errorMessage: `not known here: ${asked}` },
    };
  }
  const fileDescriptorProto = closure([file]).map((f) => toBinary(FileDescriptorProtoSchema, f.proto));
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
}

/** The files and all that they import, each once, the asked ones first. */
function closure(files: readonly DescFile[]): DescFile[] {
  const all = new Set<DescFile>();
  const visit = (file: DescFile): void => {
    if (all.has(file)) return;
    all.add(file);
    file.dependencies.forEach(visit);
  };
  files.forEach(visit);
  return [...all];
}
