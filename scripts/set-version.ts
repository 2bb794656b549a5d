import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertFollows, listStated, VERSION_FILES, type VersionFiles, withVersion } from './versions.ts';

/**
 * Sets the version of the project in every file that states it.
 *
 *     npm run version:set -- 0.2.0
 */
const root = join(import.meta.dirname, '..');
const files = Object.fromEntries(
  VERSION_FILES.map((path) => [path, readFileSync(join(root, path), 'utf8')]),
) as VersionFiles;

const [next] = process.argv.slice(2);
if (next === undefined) throw new Error('name the version: npm run version:set -- 0.2.0');
const stated = listStated(files);
const present = String(stated['package.json']);
for (const [place, version] of Object.entries(stated))
  if (version !== present) throw new Error(`${place} states ${version}, and package.json ${present}`);
assertFollows(present, next);
for (const [path, text] of Object.entries(withVersion(files, next))) writeFileSync(join(root, path), text);
process.stdout.write(`${present} is now ${next}\n`);
