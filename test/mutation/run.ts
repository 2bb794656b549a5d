import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Stryker } from '@stryker-mutator/core';
import { EQUIVALENT, type Equivalent } from './equivalent.ts';
import { PLAN, type Target } from './plan.ts';

/**
 * `npm run mutate`: changes the state machine and the money code in every small way, one at a time in a copy, and sees
 * whether the tests notice. Arguments select sources by a part of their path. Fails when a change stays unnoticed that is
 * not listed as equivalent, and when the list has one that was not there or was noticed.
 */
type Mutant = Awaited<ReturnType<Stryker['runMutationTest']>>[number];

const ROOT = join(import.meta.dirname, '..', '..');
const NOTICED: readonly string[] = ['Killed', 'Timeout'];

interface Change {
  readonly mutant: Mutant;
  readonly original: string;
  readonly equivalent: Equivalent | undefined;
}

function mutantsOf({ source, tests }: Target): Promise<Mutant[]> {
  const command = `"${process.execPath}" --test --test-isolation=none ${tests.join(' ')}`;
  const configFile = join(import.meta.dirname, 'stryker.json');
  const tempDirName = join(tmpdir(), 'cardvault-mutation');
  return new Stryker({ configFile, tempDirName, mutate: [source], commandRunner: { command } }).runMutationTest();
}

/** The text that was replaced. */
function originalOf(text: readonly string[], { location }: Mutant): string {
  const lines = text.slice(location.start.line - 1, location.end.line);
  const last = lines.length - 1;
  return lines
    .map((line, index) =>
      line.slice(index === 0 ? location.start.column - 1 : 0, index === last ? location.end.column - 1 : undefined),
    )
    .join('\n');
}

async function listChanges(target: Target): Promise<Change[]> {
  const { source } = target;
  const lines = readFileSync(join(ROOT, source), 'utf8').split('\n');
  const mutants = await mutantsOf(target);
  return mutants.map((mutant) => {
    const original = originalOf(lines, mutant);
    const { replacement, location } = mutant;
    const line = lines[location.start.line - 1]?.trim();
    const equivalent = EQUIVALENT.find(
      (each) => each.source === source && each.line === line && each.replacement === replacement,
    );
    return { mutant, original, equivalent };
  });
}

const shown = (source: string, { mutant, original }: Change): string =>
  `${mutant.status}: ${source}:${mutant.location.start.line} ${mutant.mutatorName}\n- ${original}\n+ ${mutant.replacement}\n`;

const selected = process.argv.slice(2);
const targets = PLAN.filter(({ source }) => selected.length === 0 || selected.some((part) => source.includes(part)));
process.chdir(ROOT);
const counts = { all: 0, noticed: 0, equivalent: 0, faults: targets.length === 0 ? 1 : 0 };
for (const target of targets) {
  const changes = await listChanges(target);
  const isNoticed = ({ mutant }: Change): boolean => NOTICED.includes(mutant.status);
  const survivors = changes.filter((change) => !isNoticed(change) && change.equivalent === undefined);
  const unnoticed = new Set(changes.filter((change) => !isNoticed(change)).map(({ equivalent }) => equivalent));
  const stale = EQUIVALENT.filter((each) => each.source === target.source && !unnoticed.has(each));
  for (const change of survivors) process.stdout.write(`${shown(target.source, change)}\n`);
  for (const { line, replacement } of stale)
    process.stdout.write(`listed as equivalent, and is not: ${target.source}\n- ${line}\n+ ${replacement}\n\n`);
  const noticed = changes.filter(isNoticed).length;
  const timeouts = changes.filter(({ mutant }) => mutant.status === 'Timeout').length;
  const equivalent = changes.length - noticed - survivors.length;
  process.stdout.write(
    `${target.source}: ${changes.length} changes, ${noticed} noticed, ${timeouts} of them by a timeout, ${equivalent} equivalent, ${survivors.length} unnoticed\n`,
  );
  counts.all += changes.length;
  counts.noticed += noticed;
  counts.equivalent += equivalent;
  counts.faults += survivors.length + stale.length + (changes.length === 0 ? 1 : 0);
}
process.stdout.write(
  `${counts.all} changes, ${counts.noticed} noticed, ${counts.equivalent} equivalent, ${counts.faults} at fault\n`,
);
if (counts.faults > 0) process.exitCode = 1;
