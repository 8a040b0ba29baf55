import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { keepFiles } from './kept-files.js';

/** The pages that browsers get. */
export interface Pages {
  /** The console, at `/`. */
  console(reply: FastifyReply): FastifyReply;
  /** The GraphQL explorer, at `/graphql`. */
  explorer(reply: FastifyReply): FastifyReply;
}

/** The sandbox beside this gateway, as the console shows it: whom one click signs in, and where it takes commands. */
export interface SandboxInfo {
  readonly url: string;
  readonly users: readonly { readonly name: string; readonly email: string; readonly password: string }[];
}

/** What the console is told in its page, before it has asked anything. */
export interface PageSettings {
  readonly version: string;
  /** By family of webhooks: how many seconds old a signature may be, if that counts, and how far ahead. */
  readonly signatureTimes: Readonly<
    Record<string, { readonly maxAge: number | undefined; readonly maxAhead: number }>
  >;
  /** Set only beside the sandbox, whose passwords are printed at start anyway. */
  readonly sandbox?: SandboxInfo | undefined;
}

/** The console's page holds this, for `PageSettings` as JSON: a script in the page would need a weaker policy. */
const placeholder = '%TRIVIUM%';

/** Serves the built pages out of `folder`; `/assets/…` never changes under one name. */
export async function servePages(app: FastifyInstance, folder: URL, settings: PageSettings): Promise<Pages> {
  const explorer = readPage(new URL('explorer/explorer.html', folder));
  const console = readPage(new URL('index.html', folder))?.replace(placeholder, () => attribute(settings));
  if (explorer !== undefined)
    await app.register(async (assets) => {
      keepFiles(assets);
      await assets.register(fastifyStatic, {
        root: fileURLToPath(new URL('assets/', folder)),
        prefix: '/assets/',
        acceptRanges: false,
        preCompressed: true,
        immutable: true,
        maxAge: '365d',
        decorateReply: false,
      });
    });
  return {
    console: (reply) => sendPage(withConsolePolicy(reply, settings.sandbox), 'console', console),
    explorer: (reply) => sendPage(reply, 'explorer', explorer),
  };
}

function readPage(file: URL): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

function sendPage(reply: FastifyReply, name: string, page: string | undefined): FastifyReply {
  return page === undefined
    ? reply.code(503).type('text/plain').send(`The ${name} is not built. Run: npm run build\n`)
    : reply.type('text/html; charset=utf-8').send(page);
}

/**
 * The console needs less than the explorer, whose editor writes styles into the page: nothing inline at all. The
 * sandbox, which the console commands, is on a port of its own.
 */
function withConsolePolicy(reply: FastifyReply, sandbox: SandboxInfo | undefined): FastifyReply {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self'${sandbox ? ` ${new URL(sandbox.url).origin}` : ''}`,
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ];
  return reply.header('content-security-policy', policy.join(';'));
}

/** The settings as the value of an attribute in double quotes; what is given may have more members, such as secrets. */
function attribute({ version, signatureTimes, sandbox }: PageSettings): string {
  const users = sandbox?.users.map(({ name, email, password }) => ({ name, email, password }));
  const shown = { version, signatureTimes, sandbox: sandbox && { url: sandbox.url, users } };
  return JSON.stringify(shown).replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
