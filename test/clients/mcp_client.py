"""The Python SDK at servers of both generations, in both of its own modes; prints what it saw as JSON."""
import asyncio
import json
import sys

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

given = json.loads(sys.argv[1])


async def answer(context, params):
    return ElicitResult(action="accept", content={"username": "ada", "email": "a@b.c"})


async def one(path, prefix, mode):
    headers = {"authorization": f"Bearer {given['key']}"}
    steps = []

    async def progress(done, total, message):
        steps.append(done)

    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(given["origin"] + path, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=answer) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            plain = await client.call_tool(f"{prefix}test_simple_text", {})
            asked = await client.call_tool(f"{prefix}test_elicitation", {"message": "who?"})
            await client.call_tool(f"{prefix}test_tool_with_progress", {}, progress_callback=progress)
            prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
            resources = [str(one.uri) for one in (await client.list_resources()).resources]
            try:
                await client.call_tool(f"{prefix}test_image_content", {})
                hidden = "called"
            except Exception as error:
                hidden = str(error)
            return {
                "version": client.protocol_version,
                "listed": f"{prefix}test_simple_text" in tools,
                "hidden": hidden,
                "isHiddenListed": f"{prefix}test_image_content" in tools,
                "plain": plain.content[0].text,
                "asked": asked.content[0].text,
                "steps": steps,
                "prompts": len(prompts),
                "resources": len(resources),
            }


async def main():
    seen = {}
    for path, prefix in given["paths"]:
        for mode in ("legacy", "2026-07-28", "auto"):
            seen[f"{path} {mode}"] = await one(path, prefix, mode)
    print(json.dumps(seen))


asyncio.run(main())
