import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Decrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { parseConfig } from '../../src/config.ts';
import { type OpenCore, openCore } from '../../src/core.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { Pan } from '../../src/kernel/pan.ts';
import { SCHEMES, type Scheme } from '../../src/vault/scheme.ts';
import type { Token } from '../../src/vault/token.ts';
import { Vault } from '../../src/vault/vault.ts';
import { Search } from '../fixtures/canaries.ts';
import { systemClocks } from '../fixtures/clock.ts';
import { BIN, type CommandResult, Shell, withoutSettings } from '../fixtures/command.ts';
import { databaseSettings, dropDatabase, storedBytes } from '../fixtures/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { runCommand, startProcess } from '../fixtures/service-process.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { followOnRequest, newMerchant, PAYMENTS, processed } from '../interface/payment-requests.ts';
import { CAPTURES, capture, cards as cardsOf, dataOf, TOKENIZE, VISA } from '../interface/vault-requests.ts';
import { inScope, onlyLong } from '../scope.ts';

/** An account leaves one vault and comes into another one, and cards come from files of other systems. */

const OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };
const CVV = '8317';
const KILLS = inScope({ usual: 2, long: 20 });
const LINES = inScope({ usual: 6000, long: 40_000 });

/** A vault without a service, with commands over it. */
class Target {
  readonly directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  core!: OpenCore;
  shell!: Shell;

  async open(): Promise<void> {
    const settings = { CARDVAULT_DATA_DIR: this.directory, ...(await databaseSettings(this.directory)) };
    this.core = await openCore(parseConfig(settings), systemClocks);
    this.shell = new Shell(this.directory, this.core);
  }

  async close(): Promise<void> {
    await this.core.close();
    rmSync(this.directory, { recursive: true, force: true });
    await dropDatabase(this.directory);
  }

  async newAccount(): Promise<string> {
    return (await this.shell.run('account', 'create', '--name', 'Store', '--json')).json.id;
  }

  /** The card numbers of tokens. */
  async pansOf(account: string, tokens: readonly string[]): Promise<(string | undefined)[]> {
    const found = await this.#detokenize(account, tokens);
    return tokens.map((token) => found.get(token)?.card.pan);
  }

  async storedCard(account: string, token: string): Promise<Token | undefined> {
    return (await this.#detokenize(account, [token])).get(token);
  }

  /** Creates a token as a request does. */
  async tokenize(account: string, pan: string, tags: readonly string[]): Promise<void> {
    const { core } = this;
    const vault = new Vault(core);
    const cards = [{ pan: pan as Pan, name: undefined, expiry: undefined }];
    const format = { scheme: 7, bin: 6 } as const;
    const request = { cards, tags, format, persistent: false, creator: { id: 'key', name: 'test' } };
    await core.transactions.run({ origin: OPERATOR }, (transaction) =>
      vault.tokenize(transaction, { account, environment: 'sandbox' }, request),
    );
  }

  #detokenize(account: string, tokens: readonly string[]) {
    const { core } = this;
    const vault = new Vault(core);
    return core.transactions.run({ origin: OPERATOR }, (transaction) =>
      vault.detokenize(transaction, { account, environment: 'sandbox' }, tokens, 'jose'),
    );
  }

  async countTokens(account: string): Promise<number> {
    const sql = 'select count(*) as number from tokens where account = ?account';
    return Number((await this.core.database.read(sql, account))[0]?.['number']);
  }
}

const sandbox = (account: string): string[] => ['--account', account, '--environment', 'sandbox'];

interface MappedLine {
  readonly line: number;
  readonly card: string;
  readonly wanted: string;
  readonly token: string;
  readonly status: string;
}

const readMapping = (file: string): MappedLine[] => {
  const [head, ...lines] = readFileSync(file, 'utf8').trim().split('\n');
  assert.equal(head, 'line,card,wanted,token,status');
  return lines.map((text) => {
    const [line, card = '', wanted = '', token = '', status = ''] = text.split(',');
    return { line: Number(line), card, wanted, token, status };
  });
};

let files: string;
let identity: string;
let recipient: string;
let keyFile: string;
let target: Target;

before(async () => {
  files = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  identity = await generateX25519Identity();
  recipient = await identityToRecipient(identity);
  keyFile = join(files, 'identity.txt');
  writeFileSync(keyFile, `# created by a test\n${identity}\n`);
  target = new Target();
  await target.open();
});
after(async () => {
  await target.close();
  rmSync(files, { recursive: true, force: true });
});

let file = 0;
const newFile = (content?: string): string => {
  const path = join(files, `file-${++file}`);
  if (content !== undefined) writeFileSync(path, content);
  return path;
};

/** Runs an import, with mapping and rejects beside the file. */
async function importFile(account: string, path: string, ...more: string[]): Promise<CommandResult> {
  return target.shell.run('import', path, ...sandbox(account), '--json', ...more);
}

async function importDone(account: string, path: string, ...more: string[]) {
  const ran = await importFile(account, path, ...more);
  assert.equal(ran.err, '');
  return ran.json;
}

/** The records of an export, opened by another implementation of the format. */
async function openExport(path: string) {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  const text = await decrypter.decrypt(new Uint8Array(readFileSync(path)), 'text');
  const lines = text.trimEnd().split('\n');
  return { text, lines, records: lines.map((line) => JSON.parse(line)) };
}

describe('an account that leaves', () => {
  let service: TestService;
  let shell: Shell;
  let account: string;
  let exported: string;
  /** Card numbers by token, as the source has them. */
  const cards = new Map<string, string>();

  before(async () => {
    service = await startTestService();
    shell = new Shell(service.directory, service.core);
    const merchant = await newMerchant(service);
    account = merchant.account;
    const pans = [...Array.from({ length: 12 }, () => luhnPan('411111')), luhnPan('37', 15), luhnPan('6', 19)];
    for (const scheme of Object.keys(SCHEMES).map(Number) as Scheme[])
      for (const more of [{}, { type: 'persistent' }, { type: 'persistent', isEightDigitsBin: true }]) {
        if ('isEightDigitsBin' in more && !SCHEMES[scheme].eightDigitBin) continue;
        const chd = pans.map((card) => ({ card, name: 'Ana', exp: '12/30' }));
        const body = { chd, tags: ['moves'], scheme, ...more };
        const { tokens } = dataOf(await service.call('POST', TOKENIZE, { key: merchant.key, body }));
        for (const [index, { token }] of tokens.entries()) cards.set(token, pans[index] ?? '');
      }
    const chd = { card: VISA, name: 'Ana', exp: '12/30', cvv: CVV };
    dataOf(await merchant.send('POST', CAPTURES, capture({ chd, additional_info: { order: 1.5 } })));
    const payment = await merchant.opened('authorization');
    processed(await merchant.move('capture', payment, 100));
    exported = newFile();
    const ran = await shell.run(
      ...['export', ...sandbox(account), '--recipient', recipient, '--output', exported, '--rate', '1000000', '--json'],
    );
    assert.deepEqual([ran.code, ran.err], [0, '']);
    assert.equal(ran.json.counts.token, cards.size);
    assert.equal(ran.json.sha256, hash('sha256', readFileSync(exported)));
  });
  after(() => service.stop());

  test('takes tokens with cards, captures without security codes, payments and the audit log along', async () => {
    const { text, lines, records } = await openExport(exported);
    const [header, ...rest] = records;
    const trailer = rest.pop();
    assert.deepEqual(
      [header.kind, header.version, header.account.id, header.environment],
      [...['header', 1, account, 'sandbox']],
    );
    const content = lines.slice(0, -1).map((line) => `${line}\n`);
    assert.equal(trailer.sha256, hash('sha256', content.join('')));
    const byKind = Map.groupBy(rest, ({ kind }) => kind);
    for (const [kind, count] of Object.entries(trailer.counts))
      assert.equal(byKind.get(kind)?.length ?? 0, count, kind);
    for (const { token, pan, exp, name, tags } of byKind.get('token') ?? [])
      assert.deepEqual([pan, exp, name, tags], [cards.get(token), '12/2030', 'Ana', ['moves']]);
    const [captured] = byKind.get('capture') ?? [];
    assert.deepEqual([captured.pan, captured.additional_info], [VISA, { order: 1.5 }]);
    for (const part of [`"${CVV}"`, '"cvv"', '"track']) assert.ok(!text.includes(part), part);
    const [paid] = byKind.get('payment') ?? [];
    assert.deepEqual([paid.status, paid.collected_amount, paid.operations.length], ['Collected', '100.00', 2]);
    assert.ok((byKind.get('audit')?.length ?? 0) > 1);
    assert.ok(byKind.get('audit')?.every(({ entry }) => typeof entry.hash === 'string'));
  });

  test('leaves no card number outside the encrypted file', async () => {
    const search = new Search([...new Set(cards.values())]);
    assert.deepEqual(search.found(readFileSync(exported)), []);
    assert.deepEqual(search.found(Buffer.from(service.log.join('\n'))), []);
    const { out } = await shell.run('audit', 'export');
    assert.deepEqual(search.found(Buffer.from(out)), []);
    const events = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
    const [started] = events.filter(({ action }) => action === 'account.exported');
    const [ended] = events.filter(({ action }) => action === 'account.export-ended');
    assert.equal(started.actor.type, 'operator');
    assert.equal(started.detail.recipients, hash('sha256', `${recipient}\n`));
    assert.ok(ended.detail.counts.includes(`token=${cards.size}`));
  });

  test('keeps every token and the rule of one token per card in another vault', async () => {
    const there = await target.newAccount();
    const result = await importDone(there, exported, '--identity', keyFile);
    assert.deepEqual([result.lines, result.created, result.half], [cards.size, cards.size, 'adopted']);
    const mapping = readMapping(result.mapping);
    assert.equal(result.mapping_sha256, hash('sha256', readFileSync(result.mapping)));
    assert.ok(mapping.every(({ wanted, token, status }) => wanted === token && status === 'created'));
    assert.deepEqual(new Set(mapping.map(({ token }) => token)), new Set(cards.keys()));
    const tokens = [...cards.keys()];
    assert.deepEqual(await target.pansOf(there, tokens), [...cards.values()]);
    assert.deepEqual(readFileSync(result.rejects, 'utf8'), 'line,field,code\n');

    const search = new Search([...new Set(cards.values())]);
    assert.deepEqual(search.found(readFileSync(result.mapping)), []);
    assert.deepEqual(search.found(await storedBytes(target.directory, target.core.database)), []);
    assert.deepEqual(search.found(Buffer.from((await target.shell.run('audit', 'export')).out)), []);
    const progress = await target.core.database.read(
      'select 1 as left_over from import_batches where account = ?account',
      there,
    );
    assert.deepEqual(progress, []);

    const { records } = await openExport(exported);
    const persistent = records.filter(({ type }) => type === 'persistent');
    const lines = persistent.map(({ pan, scheme, bin }) => JSON.stringify({ pan, scheme, bin, type: 'persistent' }));
    const again = await importDone(there, newFile(lines.join('\n')));
    assert.deepEqual([again.existing, again.created], [persistent.length, 0]);
    assert.deepEqual(
      readMapping(again.mapping).map(({ token }) => token),
      persistent.map(({ token }) => token),
    );
  });

  test('is imported once, and again only as another file, which changes nothing', async () => {
    const there = await target.newAccount();
    const first = await importDone(
      there,
      exported,
      '--identity',
      keyFile,
      '--mapping',
      newFile(),
      '--rejects',
      newFile(),
    );
    assert.equal(first.created, cards.size);
    const second = await importFile(
      there,
      exported,
      '--identity',
      keyFile,
      '--mapping',
      newFile(),
      '--rejects',
      newFile(),
    );
    assert.equal(second.code, 2);
    assert.match(second.err, /this import was finished at /);
    const { lines } = await openExport(exported);
    const clear = await importDone(there, newFile(`${lines.join('\n')}\n`));
    assert.deepEqual([clear.existing, clear.created], [cards.size, 0]);
    assert.equal(await target.countTokens(there), cards.size);
  });

  test('loses only tokens of scheme 8 where the account has issued tokens before', async () => {
    const there = await target.newAccount();
    await importDone(there, newFile(`pan\n${VISA}\n`));
    const result = await importFile(
      there,
      exported,
      '--identity',
      keyFile,
      '--mapping',
      newFile(),
      '--rejects',
      newFile(),
    );
    assert.equal(result.code, 1);
    const { half, rejected, rejects } = result.json;
    assert.equal(half, 'own');
    assert.ok(rejected > 0);
    const codes = readFileSync(rejects, 'utf8').trim().split('\n').slice(1);
    assert.ok(
      codes.every((line) => line.endsWith(',token,token_unavailable')),
      codes.join(),
    );
  });

  test('is not imported from a file that was cut, nor with another identity', async () => {
    const there = await target.newAccount();
    const bytes = readFileSync(exported);
    const cut = newFile();
    writeFileSync(cut, bytes.subarray(0, bytes.length - 40));
    assert.equal((await importFile(there, cut, '--identity', keyFile)).code, 1);
    const other = newFile(`${await generateX25519Identity()}\n`);
    assert.equal((await importFile(there, exported, '--identity', other)).code, 2);
    assert.match((await importFile(there, exported)).err, /--identity/);
  });
});

describe('an account with much in a payment and any text in its cards', () => {
  /** Takes six bytes of JSON, and is no Unicode text. */
  const LONE = '\ud800';
  const OPERATIONS = Math.ceil(LIMITS.importLineBytes / (6 * LIMITS.referenceCodeCharacters));
  const TAGS = [LONE, 'a\0b'];

  test('keeps its tokens in another vault', async () => {
    const service = await startTestService();
    try {
      const merchant = await newMerchant(service);
      const paid = await merchant.opened('payment');
      for (let count = 0; count < OPERATIONS; count++) {
        const { transaction_info, ...part } = followOnRequest('refund', 0.01);
        const reference_code = LONE.repeat(LIMITS.referenceCodeCharacters);
        const body = { ...part, transaction_info: { ...transaction_info, reference_code } };
        processed(await merchant.send('POST', `${PAYMENTS}/${paid}/refund`, body));
      }
      const chd = [{ card: VISA, name: `Ana ${LONE}`, exp: '12/30' }];
      const sent = await merchant.send('POST', TOKENIZE, { chd, tags: TAGS, scheme: 7, type: 'persistent' });
      const [{ token }] = dataOf(sent).tokens;
      const exported = newFile();
      const shell = new Shell(service.directory, service.core);
      const { account } = merchant;
      const ran = await shell.run('export', ...sandbox(account), '--recipient', recipient, '--output', exported);
      assert.equal(ran.code, 0);

      const { lines, records } = await openExport(exported);
      const longest = lines[records.findIndex(({ kind }) => kind === 'payment')] ?? '';
      assert.ok(longest.length > LIMITS.importLineBytes, `${longest.length}`);
      const there = await target.newAccount();
      const { lines: cards, created } = await importDone(there, exported, '--identity', keyFile);
      assert.deepEqual([cards, created], [records[0].expected.token, cards]);
      const stored = await target.storedCard(there, token);
      assert.deepEqual([stored?.card.name, stored?.tags], [`Ana ${LONE}`, TAGS]);
      // The digests by which tags are found are those that a request makes.
      await target.tokenize(there, luhnPan('411111'), TAGS);
      const rows = await target.core.database.read('select tag from token_tags where account = ?account', there);
      const digests = rows.map(({ tag }) => Buffer.from(tag as Uint8Array).toString('hex'));
      assert.deepEqual([digests.length, new Set(digests).size], [2 * TAGS.length, TAGS.length]);
    } finally {
      await service.stop();
    }
  });
});

describe('a file of cards', () => {
  const guide = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'guides', 'import.md'), 'utf8');
  const example = (kind: string): string =>
    new RegExp(`^\`\`\`${kind}(?: .*)?\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(guide)?.[1] ?? '';

  for (const kind of ['csv', 'jsonl'])
    test(`in ${kind} as the guide shows it is checked and imported`, async () => {
      const account = await target.newAccount();
      const path = newFile(example(kind));
      const checked = await importDone(account, path, '--check');
      assert.deepEqual([checked.format, checked.lines, checked.rejected], [kind, 3, 0]);
      assert.equal(await target.countTokens(account), 0);
      const { created, mapping } = await importDone(account, path);
      assert.equal(created, 3);
      const lines = readMapping(mapping);
      assert.equal(lines[1]?.token, '5555551877954444');
      const pans = await target.pansOf(
        account,
        lines.map(({ token }) => token),
      );
      assert.deepEqual(pans, ['4111111111111111', '5555555555554444', '4000000000000002']);
    });

  test('has its faulty lines in the rejects, by line and code alone', async () => {
    const account = await target.newAccount();
    const secret = '4111111111111112';
    const path = newFile(
      `pan,exp,name\n${VISA},12/30,Ana\n${secret},12/30,Ana\n${VISA},${secret},Ana\n${VISA},12/30\n`,
    );
    const checked = await importFile(account, path, '--check');
    assert.equal(checked.code, 1);
    assert.deepEqual(checked.json.rejects, [
      { line: 3, field: 'pan', code: 'card_luhn' },
      { line: 4, field: 'exp', code: 'malformed' },
      { line: 5, field: 'line', code: 'not_csv' },
    ]);
    const ran = await importFile(account, path);
    const { created, rejected, mapping, rejects } = ran.json;
    assert.deepEqual([ran.code, created, rejected], [1, 1, 3]);
    assert.equal(readFileSync(rejects, 'utf8'), 'line,field,code\n3,pan,card_luhn\n4,exp,malformed\n5,line,not_csv\n');
    assert.deepEqual(
      readMapping(mapping).map(({ line, card, status }) => [line, card, status]),
      [
        [2, '411111******1111', 'created'],
        [3, '411111******1112', 'rejected'],
        [4, '411111******1111', 'rejected'],
        [5, '', 'rejected'],
      ],
    );
    for (const text of [checked.out, ran.out, readFileSync(mapping, 'utf8')])
      assert.ok(!text.includes(secret) && !text.includes(VISA));
  });

  test('is refused with a wrong checksum, a missing name of standard input and an existing mapping', async () => {
    const account = await target.newAccount();
    const path = newFile(`pan\n${VISA}\n`);
    for (const [more, expected] of [
      [['--sha256', 'a'.repeat(64)], /--sha256/],
      [['--name', 'x'], /--name: only for standard input/],
      [['--mapping', path], /exists already/],
      [['--scheme', '2'], /expected 1, 3, 7, 8/],
      [['--bin', '7'], /expected 6 or 8/],
      [['--rate', '0'], /expected a number/],
    ] as const) {
      const ran = await importFile(account, path, ...more);
      assert.equal(ran.code, 2);
      assert.match(ran.err, expected);
    }
    assert.match((await importFile(account, '-')).err, /--name/);
    assert.equal(await target.countTokens(account), 0);
  });
});

/** Starts the command in a process of its own. */
async function spawnImport(account: string, path: string, outputs: readonly string[], ...more: string[]) {
  const settings = { CARDVAULT_DATA_DIR: target.directory, ...(await databaseSettings(target.directory)) };
  const env = { ...withoutSettings(process.env), ...settings };
  const args = ['import', path, ...sandbox(account), '--mapping', outputs[0] ?? '', '--rejects', outputs[1] ?? ''];
  const child = spawn(process.execPath, [BIN, ...args, '--resume', ...more], {
    env,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  return { child, exited: once(child, 'exit') as Promise<[number | null]> };
}

async function countBatches(account: string): Promise<number> {
  const sql = 'select count(*) as number from import_batches where account = ?account';
  return Number((await target.core.database.read(sql, account))[0]?.['number']);
}

describe('an import that is killed', { timeout: 240_000 }, () => {
  const killed = new Target();
  let other: Target;
  before(async () => {
    // A vault whose files this process has not read: that would end the locks of its connections.
    await killed.open();
    [other, target] = [target, killed];
  });
  after(async () => {
    target = other;
    await killed.close();
  });
  const PANS = Array.from({ length: LINES }, () => luhnPan('555555'));

  test('imports each card once when it is resumed, and has the whole mapping', async () => {
    const account = await target.newAccount();
    const outputs = [newFile(), newFile()] as const;
    const path = newFile(
      `pan,exp,scheme\n${PANS.map((pan, index) => `${pan},12/30,${index % 2 === 0 ? 7 : 1}`).join('\n')}\n`,
    );
    for (let kill = 0; kill < KILLS; kill++) {
      const before = await countBatches(account);
      const { child, exited } = await spawnImport(account, path, outputs, '--rate', '3000');
      while ((await countBatches(account)) < before + 1 && child.exitCode === null)
        await new Promise((resolve) => setTimeout(resolve, 10));
      child.kill('SIGKILL');
      await exited;
    }
    assert.ok((await countBatches(account)) >= KILLS);
    const refused = await importFile(account, path);
    assert.match(refused.err, /--resume/);
    const result = await importDone(account, path, '--resume', '--mapping', outputs[0], '--rejects', outputs[1]);
    assert.deepEqual([result.created, result.resumed], [PANS.length, true]);
    assert.equal(await target.countTokens(account), PANS.length);
    const mapping = readMapping(outputs[0]);
    assert.deepEqual(
      mapping.map(({ line }) => line),
      PANS.map((_, index) => index + 2),
    );
    assert.deepEqual(
      await target.pansOf(
        account,
        mapping.map(({ token }) => token),
      ),
      PANS,
    );
    const left = readdirSync(files).filter((name) => name.endsWith('.partial'));
    for (const name of left) assert.deepEqual(new Search(PANS.slice(0, 50)).found(readFileSync(join(files, name))), []);
  });

  test('from standard input continues with the same lines, and refuses others', { skip: onlyLong }, async () => {
    const account = await target.newAccount();
    const outputs = [newFile(), newFile()] as const;
    const text = `pan\n${PANS.slice(0, 3000).join('\n')}\n`;
    const { child, exited } = await spawnImport(account, '-', outputs, '--name', 'march', '--rate', '2000');
    child.stdin?.on('error', () => undefined);
    child.stdin?.write(text);
    while ((await countBatches(account)) < 1 && child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 10));
    child.kill('SIGKILL');
    await exited;
    const other = await spawnImport(account, '-', outputs, '--name', 'march');
    other.child.stdin?.end(text.replace(PANS[0] ?? '', luhnPan('411111')));
    assert.equal((await other.exited)[0], 2);
    const same = await spawnImport(account, '-', outputs, '--name', 'march');
    same.child.stdin?.end(text);
    assert.equal((await same.exited)[0], 0);
    assert.equal(await target.countTokens(account), 3000);
  });
});

describe('an export that is killed', { skip: onlyLong }, () => {
  test('leaves no file of that name, and a draft that only the recipient can open', async () => {
    const account = await target.newAccount();
    const pans = Array.from({ length: 1000 }, () => luhnPan('411111'));
    await importDone(account, newFile(`pan\n${pans.join('\n')}\n`));
    const output = newFile();
    const settings = { CARDVAULT_DATA_DIR: target.directory, ...(await databaseSettings(target.directory)) };
    const env = { ...withoutSettings(process.env), ...settings };
    const args = ['export', ...sandbox(account), '--recipient', recipient, '--output', output, '--rate', '100'];
    const child = spawn(process.execPath, [BIN, ...args], { env, stdio: 'ignore' });
    const exited = once(child, 'exit');
    const drafts = () => readdirSync(files).filter((name) => join(files, name).startsWith(`${output}.`));
    await eventually(async () => drafts().length > 0);
    child.kill('SIGKILL');
    await exited;
    assert.ok(!existsSync(output));
    for (const name of drafts())
      assert.deepEqual(new Search(pans.slice(0, 50)).found(readFileSync(join(files, name))), []);
    const again = await target.shell.run(...args.slice(0, -2), '--json');
    assert.deepEqual([again.code, again.json.counts.token], [0, pans.length]);
  });
});

describe('an import beside a service', { skip: onlyLong, timeout: 240_000 }, () => {
  test('imports every card while requests are served', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    const service = await startProcess(directory);
    try {
      const created = await runCommand(directory, ['account', 'create', '--name', 'Store', '--json']);
      const { id } = JSON.parse(created.out);
      const path = newFile(`pan\n${Array.from({ length: 20_000 }, () => luhnPan('411111')).join('\n')}\n`);
      let isImporting = true;
      const importing = runCommand(directory, ['import', path, ...sandbox(id), '--json']).finally(() => {
        isImporting = false;
      });
      let served = 0;
      while (isImporting) {
        const body = cardsOf([luhnPan('555555')]);
        const response = await service.call('POST', TOKENIZE, { key: service.demoKey ?? '', body });
        assert.equal(response.status, 200, response.text);
        served++;
      }
      const { code, out } = await importing;
      assert.deepEqual([code, JSON.parse(out).created], [0, 20_000]);
      assert.ok(served > 20, `${served}`);
    } finally {
      await service.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
