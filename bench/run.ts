import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { besideSection, measureBeside } from './beside.ts';
import { type CardFormFigures, cardFormSection, measureCardForm } from './card-form.ts';
import type { DatabaseName, MatrixSettings, Results } from './figures.ts';
import { measureGrowth, withEarlier } from './growth.ts';
import { measureImport } from './import.ts';
import { estimateSeconds, measureMatrix } from './matrix.ts';
import { measureMemory, memorySection } from './memory.ts';
import { measurePeer } from './peer.ts';
import { resultsPage } from './report.ts';
import { isWithinCost, measureRequestLog, requestLogTable } from './request-log.ts';
import { conditionsNow, FILES, readResults, writeResults } from './results.ts';
import { measureRotation } from './rotation.ts';
import { withSection } from './sections.ts';
import { measureSizes, sizeSection } from './sizes.ts';
import { measureSoak } from './soak.ts';
import { measureTails, tailSection } from './tails.ts';
import { measureThreads, threadSection } from './threads.ts';

/** `npm run bench`: measures, prints the tables, and writes them at the end of a whole measurement. `bench/README.md` explains it. */
const USAGE = `usage: npm run bench -- [--short] [--only PART] [--database sqlite|postgres] [--connections N,N] [--rounds N] [--seconds N]
       npm run bench -- --growth [MILLIONS,MILLIONS] [--database …] [--rounds N] [--seconds N]
       npm run bench -- --soak MINUTES [--database sqlite|postgres]
       npm run bench -- --rotation MILLIONS [--rounds N] [--seconds N]
       npm run bench -- --peer DIRECTORY [--rounds N] [--seconds N]
       npm run bench -- --request-log [--database sqlite|postgres] [--rounds N] [--seconds N]
       npm run bench -- --card-form [SESSIONS,SESSIONS] [--database sqlite|postgres] [--rounds N] [--seconds N]
       npm run bench -- --beside [--rounds N] [--seconds N]
       npm run bench -- --tails [--only PART] [--rounds N] [--seconds N]
       npm run bench -- --threads [--rounds N] [--seconds N]
       npm run bench -- --sizes [CARDS]
       npm run bench -- --memory [--rounds N] [--seconds N]
       npm run bench -- --import MILLIONS [--database sqlite|postgres]
--no-write prints the tables and writes no file.
`;
const DATABASES: Readonly<Record<string, DatabaseName>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' };
const DEFAULTS = {
  full: {
    rounds: 3,
    seconds: 2,
    connections: '1,16,64,256',
    databases: ['sqlite', 'postgres'],
    warmRequests: 5000,
    warmSeconds: 3,
    openSeconds: 5,
    settleSeconds: 10,
  },
  short: {
    rounds: 2,
    seconds: 0.4,
    connections: '64',
    databases: ['sqlite'],
    warmRequests: 2000,
    warmSeconds: 0.8,
    openSeconds: 0.4,
    settleSeconds: 4,
  },
  growth: { rounds: 6, seconds: 2 },
  peer: { rounds: 6, seconds: 5 },
  requestLog: { rounds: 20, seconds: 3, warmSeconds: 5 },
  rotation: { rounds: 10, seconds: 3 },
  cardForm: { rounds: 8, seconds: 5, sessions: '200,100,50', workers: [1, 2] },
  beside: { rounds: 8, seconds: 5 },
  tails: { rounds: 5, seconds: 2, warmSeconds: 3 },
  threads: { rounds: 5, seconds: 2, workers: [1, 2, 4] },
  memory: { rounds: 3, seconds: 6, settleSeconds: 10, workers: [1, 2, 3, 4] },
};

const RECORDS = 2000;
const STORED_CARDS = 20_000;

function parse() {
  try {
    return parseArgs({
      options: {
        short: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [] },
        database: { type: 'string', multiple: true },
        connections: { type: 'string' },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        growth: { type: 'boolean', default: false },
        soak: { type: 'string' },
        rotation: { type: 'string' },
        peer: { type: 'string' },
        'request-log': { type: 'boolean', default: false },
        'card-form': { type: 'boolean', default: false },
        memory: { type: 'boolean', default: false },
        tails: { type: 'boolean', default: false },
        threads: { type: 'boolean', default: false },
        beside: { type: 'boolean', default: false },
        sizes: { type: 'boolean', default: false },
        import: { type: 'string' },
        'no-write': { type: 'boolean', default: false },
      },
      allowPositionals: true,
    });
  } catch {
    return fail();
  }
}

function fail(): never {
  process.stderr.write(USAGE);
  process.exit(2);
}

const { values, positionals } = parse();
const isPositive = (text: string | undefined): boolean => text === undefined || Number(text) > 0;
if (
  ![
    values.rounds,
    values.seconds,
    values.soak,
    values.import,
    values.rotation,
    ...positionals.flatMap((text) => text.split(',')),
  ].every(isPositive)
)
  fail();

const databasesOf = (fallback: readonly string[]): DatabaseName[] =>
  (values.database ?? fallback).map((name) => DATABASES[name] ?? fail());
const roundsOf = ({ rounds, seconds }: { rounds: number; seconds: number }) => ({
  rounds: Number(values.rounds ?? rounds),
  seconds: Number(values.seconds ?? seconds),
});

function matrixSettings(): MatrixSettings {
  const defaults = values.short ? DEFAULTS.short : DEFAULTS.full;
  return {
    ...roundsOf(defaults),
    connections: (values.connections ?? defaults.connections).split(',').map(Number),
    only: values.only,
    databases: databasesOf(defaults.databases),
    warmRequests: defaults.warmRequests,
    warmSeconds: defaults.warmSeconds,
    openSeconds: defaults.openSeconds,
    settleSeconds: defaults.settleSeconds,
    records: RECORDS,
  };
}

const startedAt = performance.now();
const print = (line: string): void => {
  process.stderr.write(`${((performance.now() - startedAt) / 1000).toFixed(0).padStart(5)} s  ${line}\n`);
};

async function measureAll(): Promise<Results> {
  const conditions = conditionsNow(new Date());
  if (values.growth) {
    const sizes = (positionals[0] ?? '1,10').split(',').map((millions) => Number(millions) * 1e6);
    const settings = { ...roundsOf(DEFAULTS.growth), sizes, databases: databasesOf(['sqlite', 'postgres']) };
    const growth = { conditions, ...(await measureGrowth(settings, print)) };
    return { growth: withEarlier(growth, readResults().growth) };
  }
  if (values.soak !== undefined) {
    const [database = 'SQLite'] = databasesOf(['sqlite']);
    return { soak: { conditions, ...(await measureSoak({ minutes: Number(values.soak), database }, print)) } };
  }
  if (values.peer !== undefined) {
    const settings = { ...roundsOf(DEFAULTS.peer), directory: values.peer };
    return { peer: { conditions, ...(await measurePeer(settings, print)) } };
  }
  if (values.import !== undefined) {
    const settings = { cards: Number(values.import) * 1e6, databases: databasesOf(['sqlite']) };
    return { import: { conditions, ...(await measureImport(settings, print)) } };
  }
  const settings = matrixSettings();
  print(`this takes about ${Math.max(1, Math.round(estimateSeconds(settings) / 60))} minutes`);
  return { matrix: { conditions, ...(await measureMatrix(settings, print)) } };
}

/** Prints the cost of the request log. It is a limit to hold and no figure to publish, so no file is written. */
async function reportRequestLog(): Promise<never> {
  const [database = 'SQLite'] = databasesOf(['sqlite']);
  const { warmSeconds } = DEFAULTS.requestLog;
  const figures = await measureRequestLog({ ...roundsOf(DEFAULTS.requestLog), warmSeconds, database }, print);
  process.stdout.write(`${requestLogTable(figures)}\n`);
  process.exit(isWithinCost(figures) ? 0 : 1);
}

/** Writes a section of its own, as other commands do. */
async function reportCardForm(): Promise<never> {
  const [database = 'SQLite'] = databasesOf(['sqlite']);
  const figures: CardFormFigures[] = [];
  const { sessions, workers } = DEFAULTS.cardForm;
  for (const sessionsPerSecond of (positionals[0] ?? sessions).split(',').map(Number))
    for (const each of workers) {
      const settings = { ...roundsOf(DEFAULTS.cardForm), database, workers: each, sessionsPerSecond };
      figures.push(await measureCardForm(settings, print));
    }
  return reportSection('card_form', cardFormSection(figures, conditionsNow(new Date())));
}

async function reportMemory(): Promise<never> {
  const figures = await measureMemory({ ...DEFAULTS.memory, ...roundsOf(DEFAULTS.memory) }, print);
  return reportSection('memory', memorySection(figures, conditionsNow(new Date())));
}

async function reportBeside(): Promise<never> {
  const figures = await measureBeside(roundsOf(DEFAULTS.beside), print);
  return reportSection('beside', besideSection(figures, conditionsNow(new Date())));
}

async function reportTails(): Promise<never> {
  const settings = { ...DEFAULTS.tails, ...roundsOf(DEFAULTS.tails), only: values.only };
  return reportSection('tails', tailSection(await measureTails(settings, print), conditionsNow(new Date())));
}

async function reportThreads(): Promise<never> {
  const figures = await measureThreads({ ...DEFAULTS.threads, ...roundsOf(DEFAULTS.threads) }, print);
  return reportSection('threads', threadSection(figures, conditionsNow(new Date())));
}

async function reportSizes(): Promise<never> {
  const figures = await measureSizes(Number(positionals[0] ?? STORED_CARDS), print);
  return reportSection('sizes', sizeSection(figures, conditionsNow(new Date())));
}

function reportSection(name: string, section: string): never {
  process.stdout.write(`${section}\n`);
  if (!values['no-write']) writeFileSync(FILES.page, withSection(readFileSync(FILES.page, 'utf8'), name, section));
  process.exit();
}

// Services end when this process exits.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));
if (values['request-log']) await reportRequestLog();
if (values['card-form']) await reportCardForm();
if (values.memory) await reportMemory();
if (values.tails) await reportTails();
if (values.threads) await reportThreads();
if (values.beside) await reportBeside();
if (values.sizes) await reportSizes();
if (values.rotation !== undefined) {
  const settings = { ...roundsOf(DEFAULTS.rotation), tokens: Number(values.rotation) * 1e6 };
  await measureRotation(settings, print);
  process.exit();
}
const measured = await measureAll();
process.stdout.write(`${resultsPage(measured)}\n`);
const { short: isShort, only, connections, database } = values;
const isPart =
  measured.matrix !== undefined && (isShort || only.length > 0 || connections !== undefined || database !== undefined);
if (!(values['no-write'] || isPart)) writeResults({ ...readResults(), ...measured });
const problems = measured.matrix?.problems ?? [measured.soak?.problem ?? []].flat();
for (const problem of problems) print(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
