import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseConfig } from '../src/config.ts';
import { openCore } from '../src/core.ts';
import { systemClocks } from '../test/fixtures/clock.ts';
import type { DatabaseName, Import, ImportSettings } from './figures.ts';
import { PAN, panWriter, requestNamed } from './requests.ts';
import { settingsFor } from './service.ts';
import { Testbed } from './testbed.ts';

/** The same number of cards by requests of 100 cards and by `cardvault import`, each into a vault of its own, one after the other. */
const REQUEST = requestNamed('tokenize 100 cards, scheme 7');
const CARDS_PER_REQUEST = 100;
const CONNECTIONS = 64;
const FILLING_SECONDS = 6 * 3600;
const WARM_SECONDS = 3;
const LINES_PER_WRITE = 10_000;
const PROGRAM = join(import.meta.dirname, '..', 'bin', 'cardvault.mjs');

/** Writes the cards that the requests send: the same name, expiry and tag, every card number another one. */
async function writeCards(path: string, cards: number): Promise<void> {
  const file = createWriteStream(path);
  const write = panWriter(randomInt(2 ** 31));
  const pan = Buffer.from(PAN);
  file.write('pan,exp,name,tags\n');
  for (let written = 0; written < cards; ) {
    const lines: string[] = [];
    for (; lines.length < LINES_PER_WRITE && written < cards; written++) {
      write(pan, 0);
      lines.push(`${pan.toString('latin1')},12/30,Ana Lopez,web\n`);
    }
    if (!file.write(lines.join(''))) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
}

async function createAccount(settings: NodeJS.ProcessEnv): Promise<string> {
  const core = await openCore(parseConfig(settings), systemClocks);
  try {
    const origin = { actor: { type: 'operator' as const, name: 'bench' } };
    const { id } = await core.transactions.run({ origin }, (transaction) =>
      core.accounts.create(transaction, 'imported'),
    );
    return id;
  } finally {
    await core.close();
  }
}

/** Returns the cards a second that the command reports: from the first line to the last commit, without the start of the process. */
async function importCards(settings: NodeJS.ProcessEnv, path: string, cards: number): Promise<number> {
  const account = await createAccount(settings);
  const args = ['import', path, '--account', account, '--environment', 'sandbox', '--scheme', '7', '--json'];
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: settings, stdio: ['ignore', 'pipe', 'inherit'] });
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`the import ended with ${code}`);
  const { created, cards_per_second: perSecond } = JSON.parse(out) as { created: number; cards_per_second: number };
  if (created !== cards) throw new Error(`${created} of ${cards} cards were imported`);
  return perSecond;
}

async function requestCards(testbed: Testbed, name: string, cards: number, at?: Address): Promise<number> {
  const { target } = await testbed.startService(name, at);
  await testbed.connect([target], CONNECTIONS);
  await testbed.run(target, REQUEST, { seconds: WARM_SECONDS });
  const atMost = Math.ceil(cards / CARDS_PER_REQUEST);
  const { perSecond } = await testbed.run(target, REQUEST, { seconds: FILLING_SECONDS, atMost });
  await testbed.stopServices();
  return perSecond * CARDS_PER_REQUEST;
}

type Address = NonNullable<Parameters<Testbed['startService']>[1]>;

async function measureDatabase(
  testbed: Testbed,
  database: DatabaseName,
  cards: number,
  newDatabase: (name: string) => Promise<Address | undefined>,
): Promise<Import['figures'][number]> {
  const path = join(testbed.directory, `${database}.csv`);
  await writeCards(path, cards);
  const requested = await requestCards(testbed, `${database} requests`, cards, await newDatabase('requested'));
  const at = await newDatabase('imported');
  const settings = settingsFor(join(testbed.directory, `${database} import`), at?.address ?? '');
  const imported = await importCards(settings, path, cards);
  return { database, cards, requested, imported };
}

export async function measureImport(settings: ImportSettings, print: (line: string) => void): Promise<Import> {
  const testbed = new Testbed();
  try {
    const server = settings.databases.includes('PostgreSQL') ? await testbed.startDatabase() : undefined;
    const figures: Import['figures'][number][] = [];
    for (const database of settings.databases) {
      if (database === 'PostgreSQL' && server === undefined) continue;
      const newDatabase = async (name: string): Promise<Address | undefined> =>
        database === 'SQLite' || server === undefined ? undefined : { address: await server.newDatabase(name), server };
      const figure = await measureDatabase(testbed, database, settings.cards, newDatabase);
      figures.push(figure);
      print(`${database}: ${Math.round(figure.requested)} cards a second by requests, ${figure.imported} by import`);
    }
    return { settings, ...(server !== undefined && { postgres: server.release }), figures };
  } finally {
    await testbed.stop();
  }
}
