"""Calls the gateway with the published PyPI SDK, every method of every resource that the gateway has.

Its one argument is a JSON object; what it prints is one, too: each call's status and answer as the SDK's own
models read it, the methods that were never called, and what its options brought about.
"""
import datetime
import inspect
import json
import re
import sys
import time
import urllib.request

import httpx
from portkey_ai import Portkey

given = json.loads(sys.argv[1])
origin, provider = given["origin"], given["provider"]
statuses = []
hooks = {"response": [lambda reply: statuses.append(reply.status_code)]}


def client(**options):
    """A client as a user makes it, but that its HTTP client tells the statuses."""
    base = f"{origin}/v1"
    options = {"api_key": given["key"], **options}
    return Portkey(base_url=base, http_client=httpx.Client(base_url=base, event_hooks=hooks), **options)


def plain(answer):
    """What the SDK's model holds, as JSON."""
    if isinstance(answer, httpx.Response):
        return answer.json()
    if hasattr(answer, "model_dump"):
        return answer.model_dump(mode="json")
    return json.loads(json.dumps(answer, default=lambda o: getattr(o, "__dict__", str(o))))


def refused(make):
    """Class, status and message of what the SDK raises; None when it does not."""
    try:
        make()
    except Exception as error:  # noqa: BLE001 - the class is what is asked for
        return [type(error).__name__, getattr(error, "status_code", None), str(error)]
    return None


calls, called = {}, set()


def call(path, /, *args, sdk=None, label=None, **more):
    """Calls the method at a path as "configs.create" and keeps what came of it under that path, or the label."""
    called.add(path)
    label = label or path
    method = sdk or admin
    for name in path.split("."):
        method = getattr(method, name)
    before = len(statuses)
    try:
        answer = plain(method(*args, **more))
        calls[label] = {"status": statuses[before], "answer": answer}
        return answer
    except Exception as error:  # noqa: BLE001 - told as it is
        calls[label] = {"status": statuses[before:], "error": f"{type(error).__name__}: {error}"}
        return {}


def missed(path, resource):
    """The public methods of a resource, and of those in it, that were never called."""
    found = [
        f"{path}.{name}"
        for name, _ in inspect.getmembers(type(resource), inspect.isfunction)
        if not name.startswith("_") and f"{path}.{name}" not in called
    ]
    for name, inner in vars(resource).items():
        inside = type(inner).__module__.startswith("portkey_ai.api_resources.apis")
        if inside and not name.startswith("_"):
            found += missed(f"{path}.{name}", inner)
    return found


admin = client(api_key=given["admin_key"])
workspace = client()
place = given["workspace_id"]
feedback = {"feedback": {"value": 5, "weight": 1, "metadata": ""}}
out = {}

# Workspaces, people and keys.
made = call("admin.workspaces.create", name="From Python", description="d", defaults={"metadata": {"a": "b"}})
call("admin.workspaces.retrieve", workspace_id=made.get("id"))
call("admin.workspaces.list", page_size=10, exact_name="From Python")
call("admin.workspaces.update", workspace_id=made.get("id"), name="Renamed")
call("admin.workspaces.delete", workspace_id=made.get("id"), name="Renamed")
invite = call(
    "admin.users.invites.create",
    email="ann@example.com",
    role="member",
    workspaces=[{"id": "default", "role": "member"}],
    workspace_api_key_details={"scopes": ["completions.write"]},
)
call("admin.users.invites.retrieve", invite_id=invite.get("id"))
call("admin.users.invites.list", page_size=10, status="pending")
link = call("admin.users.invites.resend", invite_id=invite.get("id")).get("inviteLink", "")
request = urllib.request.Request(
    f"{origin}/v1/admin/users/invites/{invite.get('id')}/accept",
    json.dumps({"token": re.sub(".*token=", "", link)}).encode(),
    {"content-type": "application/json"},
)
with urllib.request.urlopen(request) as reply:
    user = json.load(reply)["user_id"]
other = admin.admin.users.invites.create(email="bob@example.com", role="member", workspaces=[])
call("admin.users.invites.delete", invite_id=other.id)
call("admin.users.retrieve", user_id=user)
call("admin.users.list", page_size="10", email="ann@example.com", role="member")
call("admin.users.update", user_id=user, role="admin")
admin.admin.users.update(user_id=user, role="member")
call("admin.workspaces.users.update", workspace_id=place, user_id=user, role="manager")
call("admin.workspaces.users.retrieve", workspace_id=place, user_id=user)
call("admin.workspaces.users.list", workspace_id=place, page_size=10, role="manager")
call("admin.workspaces.users.delete", workspace_id=place, user_id=user)
call("admin.workspaces.users.create", workspace_id=place, users=[{"id": user, "role": "member"}])
key = call(
    "api_keys.create",
    type="workspace",
    sub_type="user",
    name="k",
    workspace_id=place,
    user_id=user,
    scopes=["completions.write"],
    rate_limits=[{"type": "requests", "unit": "rpm", "value": 100}],
    usage_limits={"type": "cost", "credit_limit": 10, "alert_threshold": 5, "periodic_reset": "weekly"},
    defaults={"metadata": {"a": "b"}},
    expires_at="2040-01-01T00:00:00.000Z",
)
call("api_keys.update", id=key.get("id"), name="k2", scopes=["completions.write", "logs.view"])
call("api_keys.retrieve", id=key.get("id"))
call("api_keys.list", page_size=10, workspace_id=place)
call("api_keys.delete", id=key.get("id"))
call("admin.users.delete", user_id=user)

# What models are called with, and what calls must pass.
config = call("configs.create", sdk=workspace, name="c", config={"retry": {"attempts": 2}}, is_default=0)
call("configs.update", sdk=workspace, slug=config.get("slug"), name="cc", config={"cache": {"mode": "simple"}})
call("configs.retrieve", sdk=workspace, slug=config.get("slug"))
call("configs.list", workspace_id=place)
call("configs.delete", sdk=workspace, slug=config.get("slug"))
integration = {"slug": "python-integration"}
call(
    "integrations.create",
    **integration,
    name="I",
    key="sk-1234567890",
    ai_provider_id="openai",
    description="d",
    configurations={"custom_host": f"{provider}/integration"},
)
call("integrations.update", **integration, name="J", key="sk-0987654321")
call("integrations.retrieve", **integration)
call("integrations.list", type="organisation")
call(
    "integrations.workspaces.update",
    **integration,
    global_workspace_access={"enabled": False},
    override_existing_workspaces_access=True,
    workspaces=[{"id": place, "enabled": True}],
)
call("integrations.workspaces.list", **integration)
# The SDK promises one budget of a workspace where the product has several.
admin.integrations.workspaces.update(
    **integration,
    workspaces=[{"id": place, "enabled": True, "usage_limits": [{"type": "cost", "credit_limit": 5}]}],
)
out["access_with_usage_limits"] = refused(lambda: admin.integrations.workspaces.list(**integration))
call(
    "integrations.models.update",
    **integration,
    allow_all_models=True,
    models=[{"slug": "own", "enabled": True, "is_custom": True, "base_model_slug": "gpt-4o"}],
)
call("integrations.models.list", **integration)
call("integrations.models.delete", **integration, slugs="own")
for record in workspace.providers.list().data:
    workspace.providers.delete(slug=record.slug)
named = {"slug": "python-provider", "workspace_id": place}
call("providers.create", **named, name="P", integration_id="python-integration", note="n")
call("providers.list", workspace_id=place)
limits = {"rate_limits": {"type": "requests", "unit": "rpm", "value": 60}}
call("providers.update", **named, name="Q", **limits, usage_limits={"type": "cost", "credit_limit": 5})
call("providers.retrieve", **named)
# The SDK's list promises one limit where the product has several.
out["list_with_rate_limits"] = refused(lambda: workspace.providers.list())
chat = {"model": "gpt-ok", "messages": [{"role": "user", "content": "hi"}]}
out["stored"] = [
    client(**way).chat.completions.create(**chat).choices[0].message.content
    for way in ({"provider": "@python-provider"}, {"virtual_key": "python-provider"})
]
call("providers.delete", **named)
call("integrations.delete", **integration)
virtual = call(
    "virtual_keys.create",
    sdk=workspace,
    name="V",
    provider="azure-openai",
    key="az-abcdefghijk",
    note="n",
    apiVersion="2024-10-21",
    resourceName="r",
    deploymentName="d",
    usage_limits={"type": "cost", "credit_limit": 5},
)
call("virtual_keys.update", sdk=workspace, slug=virtual.get("slug"), name="W", **{"note": "m"})
call("virtual_keys.retrieve", sdk=workspace, slug=virtual.get("slug"))
call("virtual_keys.list", workspace_id=place)
call("virtual_keys.delete", sdk=workspace, slug=virtual.get("slug"))
check = {"id": "default.contains", "name": "n", "parameters": {"words": ["x"], "operator": "none"}}
guardrail = call(
    "guardrails.create",
    name="g",
    checks=[check],
    actions={"deny": False, "async": False, "on_success": feedback, "on_fail": feedback},
    workspace_id=place,
)
call("guardrails.update", guardrail_id=guardrail.get("slug"), name="h", checks=[check])
call("guardrails.retrieve", guardrail_id=guardrail.get("id"))
call("guardrails.list", workspace_id=place)
call("guardrails.delete", guardrail_id=guardrail.get("id"))

# What the SDK has no methods for, by its post, get, put and delete.
every = {"conditions": [{"key": "api_key", "value": "*"}], "group_by": [{"key": "api_key"}], "workspace_id": place}
vault = {"vault_auth_type": "token", "vault_addr": "https://vault.example.com", "vault_token": "t"}
for path, body, change in (
    ("/policies/rate-limits", {**every, "type": "requests", "unit": "rpm", "value": 5}, {"value": 6}),
    ("/policies/usage-limits", {**every, "type": "cost", "credit_limit": 10}, {"credit_limit": 20}),
    (
        "/secret-references",
        {"name": "s", "manager_type": "hashicorp_vault", "auth_config": vault, "secret_path": "a/b"},
        {"description": "changed"},
    ),
):
    record = f"{path}/{call('post', path, label=f'post {path}', **body).get('id')}"
    call("put", label=f"put {path}", path=record, body=change)
    call("get", label=f"get {path}", path=record)
    call("delete", label=f"delete {path}", path=record)

# Prompts.
organisation = calls["configs.retrieve"]["answer"].get("organisation_id")
label = call("labels.create", name="blue", organization_id=organisation, workspace_id=place, color_code="#00f")
call("labels.update", label.get("id"), description="d")
call("labels.retrieve", label.get("id"))
call("labels.list", organization_id=organisation, workspace_id=place, page_size=10)
folder = call("collections.create", name="folder", workspace_id=place)
call("collections.update", folder.get("id"), name="folder 2")
call("collections.retrieve", folder.get("id"))
call("collections.list", workspace_id=place, search="folder", page_size=10)
admin.integrations.create(
    name="P",
    slug="python-prompts",
    key="sk-1234567890",
    ai_provider_id="openai",
    workspace_id=place,
    configurations={"custom_host": provider},
)
partial = call("prompts.partials.create", sdk=workspace, name="Greet", string="Hello", version_description="one")
call("prompts.partials.update", partial.get("slug"), sdk=workspace, string="Hi", description="two")
call("prompts.partials.publish", partial.get("slug"), sdk=workspace, version=2)
call("prompts.partials.retrieve", partial.get("slug"), sdk=workspace)
call("prompts.partials.versions.list", partial.get("slug"), sdk=workspace)
call("prompts.partials.list", sdk=workspace)
version = {"parameters": {"temperature": 0.5}, "virtual_key": "python-prompts", "model": "gpt-ok"}


def template(text):
    return json.dumps([{"role": "user", "content": text}])


prompt = call(
    "prompts.create",
    sdk=workspace,
    name="Prompt",
    collection_id=folder.get("id"),
    string=template("{{>%s}} {{name}}" % partial.get("slug")),
    **version,
    version_description="one",
    template_metadata={"kind": "test"},
)
slug = prompt.get("slug")
changed = call("prompts.update", slug, sdk=workspace, string=template("Bye {{name}}"), **version)
second = changed.get("prompt_version_id")
call("prompts.versions.update", slug, second, sdk=workspace, label_id=label.get("id"))
call("prompts.versions.retrieve", slug, second, sdk=workspace)
call("prompts.versions.list", slug, sdk=workspace)
call("prompts.publish", slug, sdk=workspace, version=2)
call("prompts.retrieve", slug, sdk=workspace)
call("prompts.list", sdk=workspace, collection_id=folder.get("id"), search="Pro")
variables = {"name": "Ann"}
call("prompts.render", sdk=workspace, prompt_id=f"{slug}@1", variables=variables, max_tokens=5)
call("prompts.completions.create", sdk=workspace, prompt_id=slug, variables=variables, max_tokens=7)
stream = workspace.prompts.completions.create(prompt_id=slug, variables=variables, stream=True)
out["prompt_streamed"] = "".join(c.choices[0].delta.content or "" for c in stream if c.choices)
call("prompts.delete", slug, sdk=workspace)
call("prompts.partials.delete", partial.get("slug"), sdk=workspace)
call("labels.delete", label.get("id"))
call("collections.delete", folder.get("id"))

# What an option of the client brings about.
paths = iter(range(100))


def direct(**more):
    host = f"{provider}/python-{next(paths)}"
    return {"provider": "openai", "Authorization": "sk-of-the-caller", "custom_host": host, **more}


def ask(model="gpt-ok", **options):
    answer = client(**options).chat.completions.create(**{**chat, "model": model})
    return answer, answer.get_headers()


answer, head = ask(**direct(trace_id="python-trace", metadata={"_user": "ann", "teamName": "blue"}))
out["content"], out["head"] = answer.choices[0].message.content, head
out["config"] = ask("flaky-1-python", **direct(config={"retry": {"attempts": 1}}))[1]["retry-attempt-count"]
cached = direct(config={"cache": {"mode": "simple"}})
out["cache"] = [
    ask(**cached, **more)[1]["cache-status"]
    for more in ({}, {}, {"cache_force_refresh": True}, {"cache_namespace": "mine"}, {"cache_namespace": "mine"})
]
out["timeout"] = refused(lambda: ask("hang", **direct(request_timeout=50)))
ask(**direct(forward_headers=["x-of-the-caller"], x_of_the_caller="kept"))
azure = {"azure_deployment_id": "my-deployment", "azure_api_version": "2024-10-21"}
ask(**direct(provider="azure-openai", **azure))
out["azure"] = refused(lambda: ask(provider="azure-openai", azure_resource_name="no/host", **azure))
out["clouds"] = [
    refused(lambda: ask(provider="vertex-ai", vertex_project_id="p", vertex_region="no/host")),
    refused(
        lambda: ask(
            provider="bedrock",
            aws_access_key_id="a",
            aws_secret_access_key="s",
            aws_region="no/host",
            aws_session_token="t",
        )
    ),
]
text = ""
for chunk in client(**direct()).chat.completions.create(**chat, stream=True):
    text += chunk.choices[0].delta.content or ""
out["streamed"] = text
out["refusals"] = [
    refused(lambda: workspace.api_keys.retrieve(id="00000000-0000-4000-8000-000000000000")),
    refused(lambda: client(api_key="slk_wrong").configs.list()),
    refused(lambda: client(api_key=given["workspace_key"]).configs.list()),
    refused(lambda: workspace.configs.create(name="x", config={"retry": {"attempts": -1}})),
]

# Analytics of all that was called.
now = datetime.datetime.now(datetime.timezone.utc)
hour = datetime.timedelta(hours=1)
moments = {
    "time_of_generation_min": (now - hour).isoformat(),
    "time_of_generation_max": (now + hour).isoformat(),
}
for name, _ in inspect.getmembers(type(admin.analytics.graphs), inspect.isfunction):
    if not name.startswith("_"):
        call(f"analytics.graphs.{name}", **moments)
call("analytics.summary.cache", **moments, cache_status="HIT")
for name in ("users", "ai_models", "workspaces"):
    call(f"analytics.groups.{name}", **moments, current_page=0, page_size=10)
call("analytics.groups.metadata", metadata_key="teamName", **moments)
call("analytics.groups.group_by", group_by="model", columns="cost,avg_latency", include_total=True, **moments)

# Logs of calls made elsewhere, feedback on them, and exports.
call(
    "logs.create",
    sdk=workspace,
    request={
        "url": "https://api.openai.com/v1/chat/completions",
        "method": "POST",
        "headers": {},
        "provider": None,
        "body": {"model": "gpt-4o"},
    },
    response={"status": 200, "headers": {}, "streamingMode": None, "response_time": 12, "body": {"usage": {"prompt_tokens": 1000, "completion_tokens": 100}}},
    metadata={"traceId": "from-python", "spanId": "s", "spanName": "n", "user": "ann", "depth": 3},
)
given_feedback = call(
    "feedback.create", sdk=workspace, trace_id="from-python", value=5, weight=0.5, metadata={"a": "b"}
)
call("feedback.bulk_create", sdk=workspace, feedbacks=[{"trace_id": "from-python", "value": 1}, {"trace_id": "x", "value": -1}])
call("feedback.update", sdk=workspace, feedback_id=given_feedback["feedback_ids"][0], value=7, weight=1)
export = call(
    "logs.exports.create",
    filters={"trace_id": "from-python", "page_size": 10},
    workspace_id=place,
    description="d",
    requested_data=["id", "trace_id", "cost"],
)
call("logs.exports.list", workspace_id=place)
call("logs.exports.start", label="logs.exports.first", export_id=export.get("id"))
for _ in range(200):
    if call("logs.exports.retrieve", export_id=export.get("id")).get("status") == "success":
        break
    time.sleep(0.05)
with urllib.request.urlopen(call("logs.exports.download", export_id=export.get("id")).get("signed_url")) as reply:
    out["exported"] = [json.loads(line) for line in reply]
call(
    "logs.exports.update",
    export_id=export.get("id"),
    workspace_id=place,
    filters={"trace_id": "from-python"},
    requested_data=["id"],
)
call("logs.exports.start", export_id=export.get("id"))
out["cancelled"] = refused(lambda: admin.logs.exports.cancel(export_id=export.get("id")))
called.add("logs.exports.cancel")

resources = "logs feedback admin api_keys configs integrations providers virtual_keys guardrails labels collections prompts analytics"
out["missed"] = [name for r in resources.split() for name in missed(r, getattr(admin, r))]
out["calls"] = calls
print(json.dumps(out))
