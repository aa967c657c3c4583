// Every service with what implements it.

import { AssistantsService } from '../../gen/gateway/inference/v2/assistants_pb.ts';
import { AudioService } from '../../gen/gateway/inference/v2/audio_pb.ts';
import { BatchesService } from '../../gen/gateway/inference/v2/batches_pb.ts';
import { BedrockService } from '../../gen/gateway/inference/v2/bedrock_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { CompletionsService } from '../../gen/gateway/inference/v2/completions_pb.ts';
import { ConfigExplanationService } from '../../gen/gateway/inference/v2/config_pb.ts';
import { ContainersService } from '../../gen/gateway/inference/v2/containers_pb.ts';
import { ConversationsService } from '../../gen/gateway/inference/v2/conversations_pb.ts';
import { EmbeddingsService } from '../../gen/gateway/inference/v2/embeddings_pb.ts';
import { FilesService } from '../../gen/gateway/inference/v2/files_pb.ts';
import { FineTuningService } from '../../gen/gateway/inference/v2/fine_tuning_pb.ts';
import { GeminiService } from '../../gen/gateway/inference/v2/gemini_pb.ts';
import { ImagesService } from '../../gen/gateway/inference/v2/images_pb.ts';
import { MessagesService } from '../../gen/gateway/inference/v2/messages_pb.ts';
import { ModelsService } from '../../gen/gateway/inference/v2/models_pb.ts';
import { ModerationsService } from '../../gen/gateway/inference/v2/moderations_pb.ts';
import { OcrService } from '../../gen/gateway/inference/v2/ocr_pb.ts';
import { PromptCompletionsService } from '../../gen/gateway/inference/v2/prompts_pb.ts';
import { ProxyService } from '../../gen/gateway/inference/v2/proxy_pb.ts';
import { RealtimeService } from '../../gen/gateway/inference/v2/realtime_pb.ts';
import { RerankService } from '../../gen/gateway/inference/v2/rerank_pb.ts';
import { ResponsesService } from '../../gen/gateway/inference/v2/responses_pb.ts';
import { TestsService } from '../../gen/gateway/inference/v2/tests_pb.ts';
import { UploadsService } from '../../gen/gateway/inference/v2/uploads_pb.ts';
import { VectorStoresService } from '../../gen/gateway/inference/v2/vector_stores_pb.ts';
import { VideosService } from '../../gen/gateway/inference/v2/videos_pb.ts';
import type { AuditLogsDeps } from '../admin/audit-logs/service.ts';
import type { DeclaredStateDeps } from '../admin/declared-state/service.ts';
import type { AliasCatalogue } from '../configs/alias-catalogue.ts';
import { audioService } from '../inference/audio.ts';
import { messageBatches } from '../inference/batches/message-batches.ts';
import type { OwnBatches } from '../inference/batches/own-batches.ts';
import { batchesService } from '../inference/batches/service.ts';
import type { SettleDeps } from '../inference/batches/settle-output.ts';
import { bedrockService } from '../inference/bedrock.ts';
import { chatService } from '../inference/chat.ts';
import { completionsService } from '../inference/completions.ts';
import { containersService } from '../inference/containers.ts';
import { embeddingsService } from '../inference/embeddings.ts';
import { configExplanationService } from '../inference/explain-config.ts';
import { fineTuningService } from '../inference/files/fine-tuning.ts';
import type { OwnFiles } from '../inference/files/own-files.ts';
import type { OwnUploads } from '../inference/files/own-uploads.ts';
import type { ProviderCopies } from '../inference/files/provider-copies.ts';
import { relays } from '../inference/files/relays.ts';
import { filesService } from '../inference/files/service.ts';
import { uploadsService } from '../inference/files/uploads.ts';
import { geminiService } from '../inference/gemini.ts';
import { imagesService } from '../inference/images.ts';
import { messagesService } from '../inference/messages.ts';
import { modelsService } from '../inference/models.ts';
import { moderationsService } from '../inference/moderations.ts';
import { ocrService } from '../inference/ocr.ts';
import type { Pipeline } from '../inference/pipeline/pipeline.ts';
import type { PromptRuns } from '../inference/prompts.ts';
import { proxyService } from '../inference/proxy.ts';
import { type RealtimeDeps, realtimeService } from '../inference/realtime/service.ts';
import { rerankService } from '../inference/rerank.ts';
import type { BackgroundRuns } from '../inference/responses/background-runs.ts';
import type { KeptResponses } from '../inference/responses/kept-responses.ts';
import { responsesService } from '../inference/responses/service.ts';
import { testsService } from '../inference/tests.ts';
import { videosService } from '../inference/videos.ts';
import { ASSISTANTS, CONVERSATIONS, VECTOR_STORES } from '../providers/relayed-rows.ts';
import { implement } from '../rpc/implement.ts';
import type { Registration } from '../rpc/methods.ts';
import { type AdminDeps, adminRegistrations, type LogsDeps } from './admin-services.ts';
/** Files that the gateway keeps, and their copies at providers. */
export interface FilesDeps {
  readonly files: OwnFiles;
  readonly copies: ProviderCopies;
  readonly uploads: OwnUploads;
  readonly batches: OwnBatches;
  /** Of what providers' own batches have written. */
  readonly settling: SettleDeps;
}

/** Responses that the gateway keeps and makes. */
export interface ResponsesDeps {
  readonly keptResponses: KeptResponses;
  readonly backgroundRuns: BackgroundRuns;
}

/** The list that the transports, the routes and the documents are made of. */
export function registrations(
  pipeline: Pipeline,
  logs: LogsDeps,
  identity: AdminDeps &
    FilesDeps & {
      readonly runs: PromptRuns;
      readonly sessionsOf: RealtimeDeps;
      readonly aliases: AliasCatalogue;
    } & ResponsesDeps,
  audit: AuditLogsDeps,
  declared: DeclaredStateDeps,
): Registration[] {
  const { models } = pipeline;
  const { replica, aliases } = identity;
  const ownModels = {
    models,
    providersOf: replica.providersOf.bind(replica),
    aliasesOf: aliases.of.bind(aliases),
  };
  return [
    implement(ChatService, chatService(pipeline)),
    implement(MessagesService, messagesService(pipeline, identity.keptResponses)),
    implement(GeminiService, geminiService(pipeline)),
    implement(BedrockService, bedrockService(pipeline)),
    implement(CompletionsService, completionsService(pipeline)),
    implement(EmbeddingsService, embeddingsService(pipeline)),
    implement(ModerationsService, moderationsService(pipeline)),
    implement(RerankService, rerankService(pipeline)),
    ...media(pipeline, identity.sessionsOf),
    responses(pipeline, identity, identity.settling),
    implement(ModelsService, modelsService(pipeline, ownModels)),
    implement(ConfigExplanationService, configExplanationService(pipeline)),
    implement(TestsService, testsService(pipeline, ownModels.providersOf)),
    implement(PromptCompletionsService, identity.runs.service),
    ...fileServices(pipeline, identity),
    implement(ProxyService, proxyService(pipeline, messageBatches(identity.settling))),
    ...adminRegistrations(logs, identity, audit, declared),
  ];
}

function fileServices(pipeline: Pipeline, identity: FilesDeps): Registration[] {
  return [
    implement(FilesService, filesService(pipeline, identity.files, identity.settling)),
    implement(UploadsService, uploadsService(pipeline, identity.copies, identity.uploads)),
    implement(BatchesService, batchesService(pipeline, identity)),
    implement(FineTuningService, fineTuningService(pipeline, identity.copies, identity.settling)),
    implement(VectorStoresService, relays(pipeline, identity.copies, VECTOR_STORES)),
    implement(AssistantsService, relays(pipeline, identity.copies, ASSISTANTS)),
    implement(VideosService, videosService(pipeline, identity.copies)),
    implement(ConversationsService, relays(pipeline, identity.copies, CONVERSATIONS)),
    implement(ContainersService, containersService(pipeline, identity.copies)),
  ];
}

/** What is no text. */
function responses(
  pipeline: Pipeline,
  { keptResponses, backgroundRuns }: ResponsesDeps,
  settling: SettleDeps,
): Registration {
  return implement(ResponsesService, responsesService(pipeline, keptResponses, backgroundRuns, settling));
}

function media(pipeline: Pipeline, sessionsOf: RealtimeDeps): Registration[] {
  return [
    implement(ImagesService, imagesService(pipeline)),
    implement(AudioService, audioService(pipeline)),
    implement(OcrService, ocrService(pipeline)),
    implement(RealtimeService, realtimeService(pipeline, sessionsOf)),
  ];
}
