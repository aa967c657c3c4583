// /invite: where the link of an invitation leads. The page reads the token after the `#`, which browsers
// do not send to servers, and accepts by the API's own operation.
import type { Middleware } from 'koa';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem}
label{display:block;margin:1rem 0}input{display:block;width:100%;padding:.5rem;font:inherit}
button{padding:.5rem 1.5rem;font:inherit}pre{white-space:pre-wrap;word-break:break-all}`;

const SCRIPT = `const given = new URLSearchParams(location.hash.slice(1));
const form = document.querySelector('form');
const result = document.querySelector('output');
history.replaceState(null, '', location.pathname);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const answer = await fetch('/v1/admin/users/invites/' + encodeURIComponent(given.get('id') || '-') + '/accept', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      token: given.get('token') || '-',
      first_name: form.first.value,
      last_name: form.last.value,
    }),
  });
  const body = await answer.json();
  if (!answer.ok) {
    result.textContent = body.data ? body.data.message : 'That did not work.';
    return;
  }
  form.hidden = true;
  const keys = (body.api_keys || []).map((key) => key.key);
  result.textContent = keys.length > 0
    ? 'You are in. Keep your API key, it is not shown again:\\n' + keys.join('\\n')
    : 'You are in.';
});
`;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Invitation</title>
<link rel="stylesheet" href="/invite/style.css">
</head>
<body>
<h1>Invitation</h1>
<form>
<label>First name <input name="first" maxlength="100" autocomplete="given-name"></label>
<label>Last name <input name="last" maxlength="100" autocomplete="family-name"></label>
<button>Accept</button>
</form>
<pre><output></output></pre>
<script src="/invite/script.js"></script>
</body>
</html>
`;

const FILES: ReadonlyMap<string, readonly [string, string]> = new Map([
  ['/invite', ['text/html; charset=utf-8', PAGE]],
  ['/invite/style.css', ['text/css; charset=utf-8', STYLE]],
  ['/invite/script.js', ['text/javascript; charset=utf-8', SCRIPT]],
]);

/** Paths of the page and of what it loads. */
export const INVITE_PATHS: readonly string[] = [...FILES.keys()];

/** Answers with the page or one of its files. */
export const invitePage: Middleware = (ctx) => {
  const [type, text] = FILES.get(ctx.path) ?? ['text/plain', ''];
  ctx.set('content-type', type);
  ctx.set('cache-control', 'no-store');
  ctx.set('x-content-type-options', 'nosniff');
  ctx.set(
    'content-security-policy',
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
  );
  ctx.body = text;
};
