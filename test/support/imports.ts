import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Source texts by their path below `src`, as `notes/client.ts`. */
export type Sources = Readonly<Record<string, string>>;

/** An import, type-only or not; modules are named by their path below `src`, as `notes/client`. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

/** Every TypeScript source in `folder`. */
export function readSources(folder: URL): Sources {
  const root = fileURLToPath(folder);
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.tsx?$/.test(path),
  );
  return Object.fromEntries(
    paths.map((path) => [path.replaceAll('\\', '/'), readFileSync(join(root, path), 'utf8')]),
  );
}

/** The module that a path below `src` names. */
export function moduleName(path: string): string {
  return path.replace(/\?.*$/, '').replace(/\.[jt]sx?$/, '');
}

const statement = /^[ \t]*(?:import|export)\b[^'";]*?\bfrom\s*(['"])(?<to>.+?)\1/gm;
const bare = /^[ \t]*import\s*(['"])(?<to>.+?)\1/gm;
const dynamic = /\bimport\s*\(\s*(['"`])(?<to>.+?)\1/g;
const thread = /\bnew URL\(\s*(['"])(?<to>.+?\.[jt]s)\1\s*,\s*import\.meta\.url/g;

/** The modules that a source names, as it writes them: static, type-only, dynamic, re-exported or run as a thread. */
function named(source: string): readonly string[] {
  return [statement, bare, dynamic, thread].flatMap((form) =>
    Array.from(source.matchAll(form), (match) => match.groups!['to']!),
  );
}

/** Every import between modules of our own; one that leaves `src` keeps its `..`. */
export function importsOf(sources: Sources): readonly Import[] {
  return Object.entries(sources).flatMap(([path, source]) =>
    named(source)
      .filter((to) => to.startsWith('.'))
      .map((to) => ({ from: moduleName(path), to: moduleName(posix.join(posix.dirname(path), to)) })),
  );
}

/** The cycles among imports, each as the path around it; if there is any cycle, at least one is found. */
export function cyclesOf(arrows: readonly Import[]): readonly (readonly string[])[] {
  const cycles: (readonly string[])[] = [];
  const done = new Set<string>();
  const visit = (module: string, path: readonly string[]) => {
    const met = path.indexOf(module);
    if (met >= 0) cycles.push([...path.slice(met), module]);
    if (met >= 0 || done.has(module)) return;
    for (const { from, to } of arrows) if (from === module) visit(to, [...path, module]);
    done.add(module);
  };
  for (const { from } of arrows) visit(from, []);
  return cycles;
}
