"""OpenAI's Python client against the gateway: files, uploads, batches, images, audio, fine-tuning, vector stores, realtime."""
import io
import json
import sys

from openai import OpenAI

base, key, files_host, plain_host, socket_host = sys.argv[1:6]


def client(host=None, provider="openai"):
    headers = {}
    if host is not None:
        config = {"provider": provider, "api_key": "sk", "custom_host": host}
        headers["x-gateway-config"] = json.dumps(config)
    return OpenAI(api_key=key, base_url=base + "/v1", default_headers=headers, max_retries=0)


out = {}
own, there, plain = client(), client(files_host), client(plain_host)

# Files that the gateway keeps, and a provider's.
for name, one in (("own", own), ("there", there)):
    made = one.files.create(file=("a.txt", b"hello python"), purpose="user_data")
    listed = [file.id for file in one.files.list()]
    content = one.files.content(made.id).read()
    out["files_" + name] = [
        made.filename,
        made.id in listed,
        one.files.retrieve(made.id).bytes,
        content.decode(),
        one.files.delete(made.id).deleted,
    ]

# An upload in parts.
upload = own.uploads.create(filename="b.bin", purpose="user_data", bytes=11, mime_type="text/plain")
parts = [own.uploads.parts.create(upload.id, data=io.BytesIO(data)).id for data in (b"hello ", b"parts")]
done = own.uploads.complete(upload.id, part_ids=parts)
out["upload"] = [done.status, own.files.content(done.file.id).read().decode()]

# A provider's batch.
rows = there.files.create(file=("in.jsonl", b'{"custom_id":"a","body":{"model":"m"}}\n'), purpose="batch")
batch = there.batches.create(input_file_id=rows.id, endpoint="/v1/chat/completions", completion_window="24h")
out["batch"] = [batch.status, there.batches.retrieve(batch.id).id, len(there.batches.list(limit=5).data)]
out["batch_cancelled"] = there.batches.cancel(batch.id).id

# Images and audio.
out["image"] = plain.images.generate(prompt="a lamp", model="gpt-image-1").data[0].b64_json
out["edited"] = plain.images.edit(image=("a.png", b"png", "image/png"), prompt="a hat", model="gpt-image-1").data[0].b64_json
out["heard"] = plain.audio.transcriptions.create(file=("a.wav", b"wav"), model="whisper-1").text
with plain.audio.speech.with_streaming_response.create(model="tts-1", voice="alloy", input="hi") as speech:
    out["spoken"] = len(speech.read())

# Fine-tuning and vector stores.
job = there.fine_tuning.jobs.create(model="m", training_file="file-1")
out["job"] = [job.id, there.fine_tuning.jobs.retrieve(job.id).status, there.fine_tuning.jobs.cancel(job.id).id]
store = there.vector_stores.create(name="s")
out["store"] = [store.id, there.vector_stores.retrieve(store.id).name, there.vector_stores.list().data[0].id]

# Realtime.
live = OpenAI(
    api_key=key,
    base_url=base + "/v1",
    websocket_base_url=base.replace("http", "ws") + "/v1",
    default_headers={
        "x-gateway-config": json.dumps({"provider": "openai", "api_key": "sk", "custom_host": socket_host})
    },
)
with live.realtime.connect(model="rt") as connection:
    connection.response.create()
    seen = []
    for event in connection:
        seen.append(event.type)
        if event.type == "response.done":
            break
out["realtime"] = seen
print(json.dumps(out))
