// The buf plugin: descriptors in, gen/openapi.json out. Run by `buf generate` (buf.gen.yaml).
import { create, createFileRegistry, type DescService } from '@bufbuild/protobuf';
import {
  type CodeGeneratorRequest,
  type CodeGeneratorResponse,
  CodeGeneratorResponse_Feature,
  CodeGeneratorResponseSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { runNodeJs } from '@bufbuild/protoplugin';
import { documentOf } from './document.ts';

/** Packages whose services are the API; health and reflection are gRPC's own. */
const OURS = /^gateway\./;

runNodeJs({ name: 'sluice-openapi', version: 'v2.0.0', run });

function run(request: CodeGeneratorRequest): CodeGeneratorResponse {
  const content = `${JSON.stringify(documentOf(servicesOf(request)), undefined, 2)}\n`;
  return create(CodeGeneratorResponseSchema, {
    supportedFeatures: BigInt(CodeGeneratorResponse_Feature.PROTO3_OPTIONAL),
    file: [{ name: 'openapi.json', content }],
  });
}

function servicesOf(request: CodeGeneratorRequest): DescService[] {
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: request.protoFile }));
  return [...registry.files]
    .filter((file) => OURS.test(file.proto.package) && request.fileToGenerate.includes(file.proto.name))
    .sort((a, b) => (a.proto.name < b.proto.name ? -1 : 1))
    .flatMap((file) => file.services);
}
