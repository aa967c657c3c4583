// nginx, twice: as the upstream that answers at once, and as the yardstick that proxies. One process each.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, startServer } from './child.ts';
import { BIG_BODY_BYTES, CHAT_ANSWER } from './payloads.ts';

/** Starts the upstream: every chat is answered with the same 500 bytes, and a file of 10 MB is served. */
export function startNginxUpstream(folder: string, port: number): Promise<Child> {
  const own = join(folder, 'nginx-upstream');
  mkdirSync(join(own, 'v1/files/big'), { recursive: true });
  writeFileSync(join(own, 'v1/files/big/content'), Buffer.alloc(BIG_BODY_BYTES, 'sluice '));
  return startNginx(
    own,
    port,
    `sendfile on;
    tcp_nopush on;
    server {
      listen 127.0.0.1:${port} backlog=4096;
      root ${own};
      default_type application/octet-stream;
      location = /v1/chat/completions { default_type application/json; return 200 '${CHAT_ANSWER}'; }
    }`,
  );
}

/** Where the yardstick listens: `chat` before the fast upstream, `unbuffered` too, `stream` before the one of streams. */
export interface ProxyPorts {
  readonly chat: number;
  readonly unbuffered: number;
  readonly stream: number;
}

/** Starts the proxy: one worker, kept-alive connections upstream, nothing logged. */
export function startNginxProxy(
  folder: string,
  ports: ProxyPorts,
  chatPort: number,
  streamPort: number,
): Promise<Child> {
  const own = join(folder, 'nginx-proxy');
  mkdirSync(own, { recursive: true });
  const server = (port: number, upstream: string, more: string): string =>
    `server { listen 127.0.0.1:${port} backlog=4096; location / { proxy_pass http://${upstream}; ${more} } }`;
  const upstream = (name: string, port: number): string =>
    `upstream ${name} { server 127.0.0.1:${port}; keepalive 256; keepalive_requests 1000000000; }`;
  return startNginx(
    own,
    ports.chat,
    `proxy_http_version 1.1;
    proxy_set_header Connection "";
    ${upstream('chat', chatPort)}
    ${upstream('stream', streamPort)}
    ${server(ports.chat, 'chat', '')}
    ${server(ports.unbuffered, 'chat', 'proxy_buffering off;')}
    ${server(ports.stream, 'stream', 'proxy_buffering off;')}`,
  );
}

function startNginx(folder: string, port: number, http: string): Promise<Child> {
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join(' ');
  const file = join(folder, 'nginx.conf');
  // Without a master the one process is the one that was started: it is measured and stopped by its id.
  writeFileSync(
    file,
    `daemon off;
master_process off;
pid ${join(folder, 'nginx.pid')};
error_log ${join(folder, 'error.log')} error;
events { worker_connections 8192; }
http {
  access_log off;
  ${temp}
  keepalive_requests 1000000000;
  client_body_buffer_size 1m;
  client_max_body_size 0;
  ${http}
}
`,
  );
  return startServer('nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], port);
}
