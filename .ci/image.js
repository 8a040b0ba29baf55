/**
 * Builds the image where no registry of images can be reached: the Dockerfile as it is, by Buildah, on a base made from
 * Debian's packages and npm's Node. Then starts what came out as Compose does: as the image's user, on a file system that
 * can only be read, as the first process. Not part of the gate: it needs root, and Debian's `buildah` and `mmdebstrap`.
 */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

process.chdir(join(import.meta.dirname, '..'));
const folder = mkdtempSync(join(tmpdir(), 'trivium-image-'));
chmodSync(folder, 0o755); // the image's user reads what is in it
const storage = [
  '--root',
  join(folder, 'storage'),
  '--runroot',
  join(folder, 'run'),
  '--storage-driver',
  'vfs',
];

/** Runs a program, and returns what it printed. */
const run = (program, ...args) =>
  execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
const show = (program, ...args) => execFileSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
const buildah = (...args) => run('buildah', ...storage, ...args);
/** Ends what runs of the image; resolves when it has ended. */
let end = async () => {};
const section = (title) => console.log(`\n== ${title}`);

const dockerfile = readFileSync('Dockerfile', 'utf8');
const [, node] = /^ARG NODE=(.+)$/m.exec(dockerfile);
const [, suite] = /^FROM node:\S+?-(\w+)-slim$/m.exec(dockerfile);

/** The image that the Dockerfile begins with, made here. */
function makeBase() {
  section(`The base: ${suite} and Node ${node}`);
  const root = join(folder, 'root');
  show('mmdebstrap', '--quiet', '--variant=minbase', '--include=ca-certificates', suite, root);
  const local = join(root, 'usr/local');
  const npm = join(local, 'lib/node_modules/npm');
  mkdirSync(npm, { recursive: true });
  const unpack = (name, into, ...options) => {
    const file = run('npm', 'pack', '--silent', '--pack-destination', folder, name);
    run('tar', '-xzf', join(folder, file), '-C', into, '--strip-components=1', '--no-same-owner', ...options);
  };
  unpack(`node-linux-${process.arch}@${node}`, local, '--exclude=package/share', '--exclude=package/include');
  unpack('npm', npm);
  run('ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'));
  run('chmod', '-R', 'go+rX,+x', join(npm, 'bin'));
  run('chroot', root, 'groupadd', '--gid', '1000', 'node');
  run('chroot', root, 'useradd', '--uid', '1000', '--gid', 'node', '--create-home', 'node');
  const container = buildah('from', 'scratch');
  buildah('add', '--quiet', container, root, '/');
  buildah('commit', '--quiet', container, `docker.io/library/node:${node}-${suite}-slim`);
  rmSync(root, { recursive: true });
}

function build() {
  section('The Dockerfile');
  const context = join(folder, 'context');
  mkdirSync(context);
  run('sh', '-c', 'git archive HEAD | tar -x -C "$0"', context);
  // The build asks the registry that this machine asks, and trusts whom it trusts.
  const authorities = process.env.NODE_EXTRA_CA_CERTS ?? '/etc/ssl/certs/ca-certificates.crt';
  const npmrc = join(folder, 'npmrc');
  const settings = { registry: run('npm', 'config', 'get', 'registry'), cafile: '/etc/authorities.crt' };
  writeFileSync(
    npmrc,
    Object.entries(settings)
      .map((setting) => setting.join('='))
      .join('\n'),
  );
  const volumes = [`${npmrc}:/usr/local/etc/npmrc:ro`, `${authorities}:${settings.cafile}:ro`];
  const options = ['--isolation', 'chroot', '--pull-never', '--format', 'docker', '--tag', 'trivium'];
  show('buildah', ...storage, 'bud', ...options, ...volumes.flatMap((each) => ['--volume', each]), context);
}

/** Starts the image's own command, as the first process of its own namespace; resolves when it is ready. */
async function start(root, { User, Env, WorkingDir, Entrypoint, Cmd }, given) {
  const enter = [
    'chroot',
    `--userspec=${User}`,
    root,
    'env',
    '-i',
    ...Env,
    ...given,
    'env',
    '-C',
    WorkingDir,
  ];
  const prepare = `
    mount --bind "$0" "$0"; mount -t proc proc "$0/proc"; mount -t tmpfs tmpfs "$0/tmp"
    mount -t tmpfs -o "uid=1000,gid=1000" tmpfs "$0/data"; mount -o remount,bind,ro "$0"; exec "$@"`;
  const unshared = ['--fork', '--pid', '--mount', '--kill-child', 'sh', '-ec', prepare, root];
  const child = spawn('unshare', [...unshared, ...enter, ...Entrypoint, ...Cmd], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  end = () => (child.kill('SIGKILL'), ended);
  const ready = new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      console.log(line);
      if (line.includes('is ready')) resolve();
    });
  });
  await Promise.race([ready, ended.then((code) => Promise.reject(new Error(`It ended with ${code}.`)))]);
  const first = Number(run('pgrep', '-P', String(child.pid)));
  return {
    first,
    ended,
    enter: (...command) => run('nsenter', '-t', String(first), '-m', '-p', ...enter, ...command),
  };
}

async function tryOut() {
  section('What came out');
  const root = buildah('mount', buildah('from', 'trivium'));
  const { config } = JSON.parse(buildah('inspect', '--type', 'image', 'trivium')).Docker;
  console.log(
    `size: ${run('du', '-sh', root).split('\t')[0]}, of it the gateway: ${
      run(
        'du',
        '-shc',
        ...['dist', 'node_modules', 'schema'].map((name) => join(root, config.WorkingDir, name)),
      )
        .split('\n')
        .at(-1)
        .split('\t')[0]
    }`,
  );
  const port = 4_000;
  const gateway = await start(root, config, ['NODE_ENV=', 'SANDBOX=on', `PORT=${port}`]);
  const status = readFileSync(`/proc/${gateway.first}/status`, 'utf8');
  const [, uid] = /^Uid:\s+(\d+)/m.exec(status);
  const [, pid] = /^NSpid:.*\s(\d+)$/m.exec(status);
  console.log(`user ${uid}, process ${pid}`);
  const [, ...health] = config.Healthcheck.Test;
  gateway.enter(...health);
  console.log('the health check passes');
  console.log(`trivium --version: ${gateway.enter('trivium', '--version')}`);
  const { status: answered } = await fetch(`http://127.0.0.1:${port}/readyz`);
  const written = gateway.enter('sh', '-c', 'touch /app/x 2>/dev/null && echo written || echo refused');
  console.log(`/readyz: ${answered}; writing to /app: ${written}`);
  process.kill(gateway.first, 'SIGTERM');
  const code = await gateway.ended;
  console.log(`after SIGTERM: exit code ${code}`);
  if (uid !== '1000' || pid !== '1' || answered !== 200 || written !== 'refused' || code !== 0)
    process.exitCode = 1;
}

try {
  makeBase();
  build();
  await tryOut();
} finally {
  await end();
  run('sh', '-c', 'buildah "$@" rm --all >/dev/null 2>&1 || true', 'sh', ...storage);
  rmSync(folder, { recursive: true, force: true });
}
