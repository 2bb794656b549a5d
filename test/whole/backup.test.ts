import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { temporaryFolderOf } from '../../src/storage/sqlite/temporary-folder.ts';
import { type AgeKey, newAgeKey } from '../fixtures/age-keys.ts';
import { Search } from '../fixtures/canaries.ts';
import { type CommandResult, runWithSettings } from '../fixtures/command.ts';
import { COPY_PATHS } from '../fixtures/copy-databases.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { CARD, order, PAYMENTS } from '../interface/payment-requests.ts';
import { CAPTURES, capture, cards, dataOf, TOKENIZE, TOKENS, tokensIn } from '../interface/vault-requests.ts';
import { onlyLong } from '../scope.ts';

type Variables = Record<string, string>;

const { skip: skipPostgres } = COPY_PATHS.find(({ to }) => to === 'PostgreSQL') ?? { skip: 'no PostgreSQL' };

for (const kind of ['SQLite', 'PostgreSQL'] as const) {
  describe(`an encrypted backup of ${kind}`, {
    timeout: 120_000,
    skip: kind === 'PostgreSQL' && skipPostgres,
  }, () => {
    /** The code is the same for a snapshot of either database. */
    const skip = kind === 'PostgreSQL' && onlyLong;
    let directory: string;
    let service: TestService;
    let keys: AgeKey;
    let stranger: AgeKey;
    let apiKey: string;
    let account: string;
    let token: string;
    let captureId: string;
    const pan = luhnPan('455667');
    const name = 'Ximena Quetzalcoatl';
    const databases: string[] = [];
    const inspect = (): string => `${TOKENS}/${token}/inspect`;
    const inFolder = (...names: string[]): string => join(directory, ...names);
    const newDatabase = async (): Promise<string> => {
      const address = await (await sharedPostgres()).newDatabase();
      databases.push(address);
      return address;
    };
    const settings: Variables = { CARDVAULT_OPERATOR: 'Ana' };
    const run = (...args: string[]): Promise<CommandResult> => runWithSettings(settings, ...args);
    const done = async (...args: string[]) => {
      const { code, out, err, json } = await run(...args, '--json');
      assert.equal(code, 0, err + out);
      return json;
    };
    const failed = async (variables: Variables, ...args: string[]): Promise<{ code: number; error: string }> => {
      const { code, err } = await runWithSettings(variables, ...args, '--json');
      return { code, error: JSON.parse(err).error };
    };
    const records = async (action: string) =>
      (await done('audit', 'export'))
        .filter((record: { action: string }) => record.action === action)
        .sort((one: { time: string }, other: { time: string }) => (one.time < other.time ? -1 : 1));
    const temporaryFiles = (): string[] => {
      const folder = temporaryFolderOf(inFolder('data'));
      return existsSync(folder) ? readdirSync(folder) : [];
    };
    /** Another place that knows the root key. */
    const elsewhere = async (folder: string): Promise<Variables> => {
      mkdirSync(inFolder(folder));
      copyFileSync(inFolder('data', 'root.key'), inFolder(folder, 'root.key'));
      return {
        CARDVAULT_DATA_DIR: inFolder(folder),
        CARDVAULT_OPERATOR: 'Olga',
        ...(kind === 'PostgreSQL' && { CARDVAULT_DATABASE_URL: await newDatabase() }),
      };
    };

    before(async () => {
      directory = mkdtempSync(join(tmpdir(), 'cardvault-backup-'));
      mkdirSync(inFolder('backups'));
      [keys, stranger] = [await newAgeKey(directory, 'identity'), await newAgeKey(directory, 'stranger')];
      settings['CARDVAULT_DATA_DIR'] = inFolder('data');
      if (kind === 'PostgreSQL') settings['CARDVAULT_DATABASE_URL'] = await newDatabase();
      service = await startTestService({
        directory: inFolder('data'),
        variables: { CARDVAULT_BACKUP_MAX_AGE: '24', ...settings },
      });
      account = await service.newAccount('Backed up');
      await service.enablePayments(account);
      apiKey = (await service.newKey(account)).secret;
      const created = await service.call('POST', TOKENIZE, {
        key: apiKey,
        body: { chd: [{ card: pan, name, exp: '12/29' }], tags: ['t'], scheme: 8, type: 'persistent' },
      });
      token = tokensIn(created)[0] ?? '';
      captureId = dataOf(
        await service.call('POST', CAPTURES, {
          key: apiKey,
          body: capture({ chd: { card: pan, name, exp: '12/29', cvv: '737' } }),
        }),
      ).id;
      const paid = await service.call('POST', PAYMENTS, {
        key: apiKey,
        body: order('authorization', { card: { ...CARD, number: pan } }),
        headers: { 'idempotency-key': 'one' },
      });
      assert.equal(paid.status, 200, paid.text);
    });
    after(async () => {
      await service.stop();
      rmSync(directory, { recursive: true, force: true });
      for (const address of databases) await (await sharedPostgres()).dropDatabase(address);
    });

    test('is written beside the running service, for its user only, and recorded with its digest', async () => {
      const file = inFolder('backups', 'first.age');
      const tokenize = () => service.call('POST', TOKENIZE, { key: apiKey, body: cards([luhnPan('455667')]) });
      const [written, ...responses] = await Promise.all([
        done('backup', file, '--recipient', keys.recipient),
        ...Array.from({ length: 40 }, tokenize),
      ]);
      assert.ok(responses.every(({ status }) => status === 200));
      assert.deepEqual([written.file, written.recipients, written.verified], [file, [keys.recipient], true]);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.equal(statSync(file).size, written.bytes);
      assert.deepEqual(temporaryFiles(), []);
      assert.deepEqual(readdirSync(inFolder('backups')), ['first.age']);
      const [verified] = await records('backup.verified');
      assert.deepEqual(verified.targets, [`backup:${written.id}`]);
      const { detail, actor } = verified;
      assert.deepEqual([actor.name, detail.what, detail.sha256], ['Ana', 'first.age', written.sha256]);
      assert.deepEqual([detail.recipients, detail.rows], [[keys.recipient], written.rows]);
      const [listed, ...others] = await done('backup', 'list');
      assert.deepEqual([listed.id, listed.file, listed.present, others], [written.id, file, true, []]);
    });

    test('contains nothing in clear', { skip }, () => {
      const search = new Search([pan, name]);
      for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const path = join(entry.parentPath, entry.name);
        assert.deepEqual(search.found(readFileSync(path)), [], path);
      }
      const bytes = readFileSync(inFolder('backups', 'first.age'));
      for (const plain of ['SQLite format', 'manifest.json', account]) assert.ok(!bytes.includes(plain), plain);
    });

    test('is restored to an empty place, without security codes', async () => {
      const target = await elsewhere('restored');
      const file = inFolder('backups', 'first.age');
      const restored = await runWithSettings(target, 'restore', file, '--identity', keys.file, '--json');
      assert.equal(restored.code, 0, restored.err);
      assert.equal(restored.json.audit.ok, true);
      const copy = await startTestService({ directory: inFolder('restored'), variables: target });
      try {
        const inspected = await copy.call('GET', inspect(), { key: apiKey });
        assert.equal(inspected.status, 200, inspected.text);
        const { pan: number, cvv } = dataOf(await copy.call('GET', `${CAPTURES}/${captureId}`, { key: apiKey }));
        assert.deepEqual([number, cvv], [pan, undefined]);
      } finally {
        await copy.stop();
      }
      const verified = await runWithSettings(target, 'audit', 'verify', '--json');
      assert.deepEqual(
        verified.json.resumptions.map(({ action, what, operator }: Record<string, string>) => [action, what, operator]),
        [['vault.restored', 'first.age', 'Olga']],
      );
    });

    test('is not restored over a vault', async () => {
      const { code, error } = await failed(
        settings,
        'restore',
        inFolder('backups', 'first.age'),
        '--identity',
        keys.file,
      );
      assert.notEqual(code, 0);
      assert.match(
        error,
        kind === 'SQLite' ? /is in use; stop the service first/ : /used by a node within|is not empty/,
      );
      assert.deepEqual(temporaryFiles(), []);
      assert.equal((await service.call('GET', inspect(), { key: apiKey })).status, 200);
    });

    test('with a wrong identity, cut, altered or of another format changes nothing', { skip }, async () => {
      const target = await elsewhere('refused');
      const file = inFolder('backups', 'first.age');
      const bytes = readFileSync(file);
      const other = (name: string, content: Buffer): string => {
        writeFileSync(inFolder(name), content);
        return inFolder(name);
      };
      const middle = Buffer.from(bytes);
      middle[bytes.length >> 1] = (middle[bytes.length >> 1] ?? 0) ^ 1;
      const cases: readonly [string, string, RegExp][] = [
        [file, stranger.file, /the identity does not open it; it was encrypted for other recipients/],
        [other('cut.age', bytes.subarray(0, 150_000)), keys.file, /truncated/],
        [other('altered.age', middle), keys.file, /was altered/],
      ];
      for (const [path, identity, message] of cases) {
        const { error } = await failed(target, 'restore', path, '--identity', identity);
        assert.match(error, message);
        const left = readdirSync(inFolder('refused'), { recursive: true }).filter(
          (name) => !String(name).startsWith('temporary-'),
        );
        assert.deepEqual(left.sort(), kind === 'SQLite' ? ['cardvault.db.lock', 'root.key'] : ['root.key']);
      }
      const without = await failed(target, 'restore', file);
      assert.match(without.error, /is encrypted; name the file with a private key of a recipient: --identity FILE/);
      const listed = await failed(target, 'account', 'list');
      assert.match(listed.error, /there is no vault|contains no vault/);
    });

    test('is drilled elsewhere, with every check, and the drill is recorded', async () => {
      const report = await done('drill', '--identity', keys.file);
      assert.deepEqual(
        report.checks.map((check: { name: string; ok: boolean; fault: string }) => [check.name, check.ok, check.fault]),
        ['extract', 'open', 'sad-keys', 'keys', 'seals', 'log'].map((check) => [check, true, '']),
      );
      assert.deepEqual([report.ok, report.file, report.fault], [true, inFolder('backups', 'first.age'), null]);
      const seals = report.checks.find(({ name }: { name: string }) => name === 'seals').count;
      assert.ok(seals >= 7, `${seals}`);
      const sampled = await done('drill', '--identity', keys.file, '--sample', '1');
      const opened = sampled.checks.find(({ name }: { name: string }) => name === 'seals').count;
      assert.ok(opened > 0 && opened <= seals);
      assert.deepEqual(temporaryFiles(), []);
      const drilled = await records('backup.drilled');
      assert.deepEqual(
        drilled.map(({ outcome }: { outcome: string }) => outcome),
        ['success', 'success'],
      );
      assert.equal((await done('backup', 'list'))[0].drill_fault, null);
      const { text } = await service.call('GET', '/metrics', { environment: 'console' });
      for (const metric of ['cardvault_backup_age_seconds', 'cardvault_backup_drill_age_seconds'])
        assert.match(text, new RegExp(`^${metric} [0-9.e-]+$`, 'm'));
    });

    test('has no fault when the identity of a drill is another one', { skip }, async () => {
      const first = inFolder('backups', 'first.age');
      const drilled = (await done('backup', 'list')).find(({ file }: { file: string }) => file === first);
      const report = await run('drill', '--identity', stranger.file, '--from', first, '--json');
      assert.ok(report.code === 1 && /the identity does not open it/.test(report.json.fault), report.out);
      const listed = (await done('backup', 'list')).find(({ file }: { file: string }) => file === first);
      assert.deepEqual([listed.drill_fault, listed.drilled_at], [null, drilled.drilled_at]);
    });

    test('is drilled on a machine that has the root key alone', async () => {
      mkdirSync(inFolder('alone'));
      copyFileSync(inFolder('data', 'root.key'), inFolder('alone', 'root.key'));
      const alone = { CARDVAULT_DATA_DIR: inFolder('alone') };
      const args = ['drill', '--unrecorded', '--identity', keys.file];
      assert.match((await failed(alone, ...args)).error, /--from: required with --unrecorded/);
      const from = inFolder('backups', 'first.age');
      const report = await runWithSettings(alone, ...args, '--from', from, '--json');
      assert.equal(report.code, 0, report.err);
      assert.deepEqual([report.json.ok, report.json.checks.length], [true, 6]);
      rmSync(inFolder('alone', 'root.key'));
      const without = await runWithSettings(alone, ...args, '--from', from, '--json');
      assert.equal(without.code, 1);
      assert.match(without.json.fault, /root key file .* is missing/);
      assert.deepEqual(
        readdirSync(inFolder('alone'), { recursive: true }).filter((name) => !/^temporary/.test(`${name}`)),
        [],
      );
    });

    test('fails its drill when it is damaged, and exits with 1', { skip }, async () => {
      const bytes = readFileSync(inFolder('backups', 'first.age'));
      mkdirSync(inFolder('damaged'));
      writeFileSync(inFolder('damaged', 'cut.age'), bytes.subarray(0, bytes.length - 100));
      const report = await run('drill', '--identity', keys.file, '--from', inFolder('damaged'), '--json');
      assert.equal(report.code, 1);
      assert.deepEqual([report.json.ok, report.json.checks.length], [false, 1]);
      assert.match(report.json.fault, /was altered or is truncated/);
      assert.deepEqual(temporaryFiles(), []);
      const last = (await records('backup.drilled')).at(-1);
      assert.deepEqual([last.outcome, last.detail.what], ['failed', 'cut.age']);
    });

    test('fails its drill when a record in it cannot be opened', { skip }, async () => {
      const [row] = await service.core.database.read('select record from captures limit 1');
      const record = Uint8Array.from(row?.['record'] as Uint8Array);
      const replace = (by: Uint8Array): Promise<unknown> =>
        service.core.database.commit({ writes: [{ sql: 'update captures set record = ?', rows: [[by]] }] });
      const forged = Uint8Array.from(record);
      forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
      await replace(forged);
      await done('backup', inFolder('backups', 'forged.age'), '--recipient', keys.recipient);
      await replace(record);
      const report = await run('drill', '--identity', keys.file, '--json');
      assert.equal(report.code, 1);
      assert.equal(report.json.file, inFolder('backups', 'forged.age'));
      assert.equal(report.json.fault, 'table captures, row 1: a sealed value cannot be opened');
      const text = await run('drill', '--identity', keys.file, '--from', inFolder('backups', 'first.age'));
      assert.equal(text.code, 0, text.err);
      assert.match(text.out, /\nseals +ok +[0-9]+ /);
      assert.match(text.out, /\nthe backup can be restored\n$/);
      await done('backup', inFolder('backups', 'newest.age'), '--recipient', keys.recipient);
      const newest = await done('drill', '--identity', keys.file, '--from', inFolder('backups'));
      assert.equal(basename(newest.file), 'newest.age');
    });

    test('older ones are removed and recorded beyond the number to keep, and other files are not', {
      skip,
    }, async () => {
      const folder = inFolder('kept');
      mkdirSync(folder);
      writeFileSync(join(folder, 'unknown.age'), 'of another vault');
      const draft = join(folder, `old.age.${'a'.repeat(16)}.partial`);
      writeFileSync(draft, 'left by a crash');
      utimesSync(draft, 1, 1);
      const keeping = { ...settings, CARDVAULT_BACKUP_KEEP: '2', CARDVAULT_BACKUP_RECIPIENTS: keys.recipient };
      const ids: string[] = [];
      for (const name of ['1.age', '2.age', '3.age', '4.age']) {
        const written = await runWithSettings(keeping, 'backup', join(folder, name), '--json');
        assert.equal(written.code, 0, written.err);
        ids.push(written.json.id);
        // Another file of the same size has its name.
        if (name === '2.age') writeFileSync(join(folder, '1.age'), Buffer.alloc(statSync(join(folder, '1.age')).size));
      }
      assert.deepEqual(readdirSync(folder).sort(), ['1.age', '3.age', '4.age', 'unknown.age']);
      const ended = await records('backup.ended');
      assert.deepEqual(
        ended.map(({ targets, detail }: { targets: string[]; detail: { how: string } }) => [...targets, detail.how]),
        [[`backup:${ids[1]}`, 'removed']],
      );
      const listed = await done('backup', 'list', folder);
      assert.deepEqual(
        listed.map(({ id, file }: { id: string | null; file: string }) => [id, basename(file)]),
        [
          [ids[0], '1.age'],
          [ids[2], '3.age'],
          [ids[3], '4.age'],
          [null, 'unknown.age'],
        ],
      );
      const there = await failed(settings, 'backup', 'end', ids[2] ?? '');
      assert.match(there.error, /still exists; delete it first/);
      rmSync(join(folder, '3.age'));
      assert.equal((await done('backup', 'end', ids[2] ?? '')).ended, true);
      assert.equal((await done('backup', 'list', folder)).length, 3);
    });

    test('older ones whose file system is not mounted are reported, and not recorded as ended', { skip }, async () => {
      const [folder, unmounted] = [inFolder('mounted'), inFolder('unmounted')];
      mkdirSync(folder);
      const keeping = { ...settings, CARDVAULT_BACKUP_KEEP: '1', CARDVAULT_BACKUP_RECIPIENTS: keys.recipient };
      const create = async (name: string) => {
        const { code, err, json } = await runWithSettings(keeping, 'backup', join(folder, name), '--json');
        assert.equal(code, 0, err);
        return { err, id: String(json.id), removed: json.removed.map((each: string) => basename(each)) };
      };
      const before = (await records('backup.ended')).length;
      const first = await create('1.age');
      assert.deepEqual([first.err, first.removed], ['', []]);
      renameSync(folder, unmounted);
      mkdirSync(folder);
      const second = await create('2.age');
      assert.deepEqual(second.removed, []);
      assert.match(second.err, /^warning: 1 recorded backup is missing in \S+, first \S+1\.age: mount its file system/);
      assert.ok(second.err.endsWith(`run: cardvault backup end ${first.id}\n`), second.err);
      assert.deepEqual((await create('3.age')).removed, ['2.age']);
      rmSync(folder, { recursive: true });
      renameSync(unmounted, folder);
      const fourth = await create('4.age');
      assert.deepEqual(fourth.removed, ['1.age']);
      assert.match(fourth.err, /first \S+3\.age: /);
      const ended = (await records('backup.ended')).slice(before);
      assert.deepEqual(
        ended.flatMap(({ targets }: { targets: string[] }) => targets),
        [`backup:${second.id}`, `backup:${first.id}`],
      );
    });

    test('one whose path a newer one has is missing, and the newer one stays', { skip }, async () => {
      const folder = inFolder('same-path');
      mkdirSync(folder);
      const file = join(folder, '1.age');
      const create = async (path: string, keep = '0') => {
        const keeping = { ...settings, CARDVAULT_BACKUP_KEEP: keep, CARDVAULT_BACKUP_RECIPIENTS: keys.recipient };
        const { code, err, json } = await runWithSettings(keeping, 'backup', path, '--json');
        assert.equal(code, 0, err);
        return { ...json, err };
      };
      const moved = await create(file);
      renameSync(file, inFolder('moved.age'));
      const newer = await create(file);
      await service.core.database.commit({
        writes: [{ sql: 'update backups set bytes = ? where id = ?', rows: [[newer.bytes, moved.id]] }],
      });
      const newest = await create(join(folder, '2.age'), '2');
      assert.deepEqual(newest.removed, []);
      assert.match(
        newest.err,
        /^warning: 1 recorded backup is missing in \S+, first \S+1\.age, where a newer backup is: /,
      );
      assert.ok(newest.err.endsWith(`run: cardvault backup end ${moved.id}\n`), newest.err);
      const listed = await done('backup', 'list', folder);
      assert.deepEqual(
        listed.map(({ id, present }: { id: string; present: boolean }) => [id, present]),
        [
          [moved.id, false],
          [newer.id, true],
          [newest.id, true],
        ],
      );
      // A file that cannot be read stays, and hinders nothing: reading this one fails.
      renameSync(file, inFolder('readable.age'));
      symlinkSync('/proc/self/mem', file);
      await service.core.database.commit({
        writes: [{ sql: 'update backups set bytes = 0 where id = ?', rows: [[newer.id]] }],
      });
      assert.deepEqual((await create(join(folder, '2b.age'), '2')).removed, []);
      rmSync(file);
      rmSync(join(folder, '2b.age'));
      renameSync(inFolder('readable.age'), file);
      await service.core.database.commit({
        writes: [{ sql: 'update backups set bytes = ? where id = ?', rows: [[newer.bytes, newer.id]] }],
      });
      const there = await failed(settings, 'backup', 'end', newer.id);
      assert.match(there.error, /still exists; delete it first/);
      assert.equal((await done('backup', 'end', moved.id)).ended, true);
      assert.deepEqual((await create(join(folder, '3.age'), '2')).removed, [file]);
    });

    test('needs a recipient or the decision to write a copy without encryption', async () => {
      const { code, error } = await failed(settings, 'backup', inFolder('none'));
      assert.equal(code, 2);
      assert.match(error, /--recipient: name a public key/);
      const file = inFolder('plain.db');
      const plain = await done('backup', file, '--plain');
      assert.deepEqual([plain.recipients, statSync(file).mode & 0o777], [[], 0o600]);
      const copy = new DatabaseSync(file, { readOnly: true });
      assert.ok(Number(copy.prepare('select count(*) as rows from tokens').get()?.['rows']) >= 1);
      assert.equal(copy.prepare('select count(*) as rows from sad_keys').get()?.['rows'], 0);
      copy.close();
      assert.deepEqual(
        readdirSync(directory).filter((name) => name.endsWith('.partial')),
        [],
      );
    });

    test('without encryption is written through no link, and into no file that exists', { skip }, async () => {
      const [file, other] = [inFolder('beside-link.db'), inFolder('other-file')];
      writeFileSync(other, 'unchanged', { mode: 0o644 });
      symlinkSync(other, `${file}.partial`);
      const { id } = await done('backup', file, '--plain');
      assert.equal(readFileSync(other, 'utf8'), 'unchanged');
      assert.ok(lstatSync(file).isFile());
      assert.equal(lstatSync(file).mode & 0o777, 0o600);
      const again = await failed(settings, 'backup', file, '--plain');
      assert.match(again.error, /exists already; give the name of a new file/);
      rmSync(file);
      await done('backup', 'end', id);
    });

    test('without encryption is drilled without an identity, and compared with what was recorded', async () => {
      const file = inFolder('plain.db');
      const report = await done('drill');
      assert.deepEqual([report.ok, report.file, report.checks.length], [true, file, 6]);
      const listed = (await done('backup', 'list')).find((each: { file: string }) => each.file === file);
      assert.deepEqual([listed.id, listed.drill_fault], [report.id, null]);
      assert.equal((await done('drill', '--unrecorded', '--from', file)).ok, true);
      const encrypted = await failed(settings, 'drill', '--from', inFolder('backups', 'first.age'));
      assert.match(encrypted.error, /--identity: required, because .*first\.age is encrypted/);
      assert.match((await failed(settings, 'drill', '--from', directory)).error, /--identity: required for a folder/);

      const altered = new DatabaseSync(file);
      altered.exec('update tokens set created_at = created_at + 1');
      altered.close();
      const failing = await run('drill', '--json');
      assert.equal(failing.code, 1);
      assert.match(failing.json.fault, /was altered: it has another digest than when it was written/);
      const drilled = (await records('backup.drilled')).at(-1);
      assert.deepEqual([drilled.outcome, drilled.targets], ['failed', [`backup:${report.id}`]]);
      assert.deepEqual(temporaryFiles(), []);
      const faulty = (await done('backup', 'list')).find(({ id }: { id: string }) => id === report.id);
      assert.match(faulty.drill_fault, /was altered: it has another digest/);
    });
  });
}
