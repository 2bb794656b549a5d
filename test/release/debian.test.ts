import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { toDebianVersion } from '../../scripts/release/debian.ts';
import { memoryFolder } from '../fixtures/postgres-server.ts';
import {
  bootMachine,
  canBoot,
  cloneCheckout,
  cloneCommit,
  copyOfMachine,
  type Machine,
  makeRelease,
  newLargeFolder,
  whyNoCommit,
  whyNoCopyOfMachine,
  whyNoRelease,
} from '../fixtures/release.ts';
import { onlyLong } from '../scope.ts';
import { listFinalReleases, readCommit } from '../upgrade/releases.ts';

/** The Debian package, installed by dpkg in a copy of this machine, and over the package of the release before. */

const ROOT = join(import.meta.dirname, '..', '..');
const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;
const CARD = '4111111111111111';
const memory = onlyLong === false ? mkdtempSync(join(memoryFolder() ?? '/dev/shm', 'cardvault-test-')) : '';
after(() => rmSync(memory, { recursive: true, force: true }));
const skip = onlyLong || whyNoRelease() || whyNoCopyOfMachine(memory);

/** The release before the present state, from whose package an operator upgrades. */
const released = listFinalReleases().at(-1) ?? '';
const whyNoUpgrade = released === '' ? 'there is no release before this one' : whyNoCommit(readCommit(released));

const nameOf = (version: string): string => `cardvault_${toDebianVersion(version)}_${ARCHITECTURE}.deb`;

describe('the Debian package', { skip, timeout: 3_600_000 }, () => {
  const folder = skip === false ? newLargeFolder() : '';
  const out = join(folder, 'out');
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const [machine, upgraded] = [copyOfMachine(join(memory, 'installed')), copyOfMachine(join(memory, 'upgraded'))];

  before(async () => {
    const [present, earlier] = [join(folder, 'present'), join(folder, 'earlier')];
    cloneCheckout(present);
    const builds = [makeRelease(present, ['--deb', '--out', out])];
    if (whyNoUpgrade === false) {
      cloneCommit(readCommit(released), earlier);
      builds.push(makeRelease(earlier, ['--deb', '--out', out]));
    }
    await Promise.all(builds);
    for (const each of [machine, upgraded]) each.copyIn(join(out, nameOf(version)), 'root/present.deb');
    if (whyNoUpgrade === false) upgraded.copyIn(join(out, nameOf(released)), 'root/before.deb');
    upgraded.run(`cat >/root/client.mjs <<'END'\n${CLIENT}\nEND`);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('is installed with its user, settings and folder, and starts nothing', () => installs(machine, version));
  test('runs under systemd in its sandbox, and prints no key into the journal', (context) =>
    canBoot(machine) ? runsUnderSystemd(machine) : context.skip('systemd-container cannot be installed'));
  test('keeps key and link out of its output without systemd as well', () => startsWithoutSecrets(machine));
  test('is removed and purged, and keeps the vault', () => removes(machine));
  test(`upgrades ${released} while it runs under systemd, and serves its token`, { skip: whyNoUpgrade }, (context) =>
    canBoot(upgraded) ? upgradesUnderSystemd(upgraded, version) : context.skip('systemd-container cannot be installed'),
  );
  test(`upgrades ${released}, with settings and vault as they were`, { skip: whyNoUpgrade }, () =>
    upgrades(upgraded, version),
  );
});

const MODES = "stat -c '%A %U:%G' /etc/cardvault/cardvault.env /var/lib/cardvault";
const EXPECTED_MODES = '-rw-r----- root:cardvault\ndrwx------ cardvault:cardvault\n';

function installs(machine: Machine, version: string): void {
  machine.run('dpkg -i /root/present.deb && dpkg --verify cardvault');
  assert.equal(machine.run('cardvault --version').trim(), version);
  assert.equal(machine.run(MODES), EXPECTED_MODES);
  assert.equal(machine.run('ls -A /var/lib/cardvault'), '', 'nothing starts');
  machine.run('test ! -e /etc/systemd/system/multi-user.target.wants/cardvault.service');
  // Each script may run again, as after an interruption.
  machine.run(
    `/var/lib/dpkg/info/cardvault.postinst configure ${toDebianVersion(version)} && dpkg -i /root/present.deb`,
  );
  assert.equal(machine.run(MODES), EXPECTED_MODES);
  assert.match(
    machine.run('setpriv --reuid=65534 --regid=65534 --clear-groups cardvault account list 2>&1 || true'),
    /sudo cardvault/,
  );
}

/** The standard output of the service is a file that JOURNAL_STREAM names, as under systemd. */
const SERVE = `: >/root/journal
export CARDVAULT_PRODUCTION_PORT=0 CARDVAULT_SANDBOX_PORT=0 CARDVAULT_CONSOLE_PORT=0 CARDVAULT_CAPTURE_PORT=0
JOURNAL_STREAM=$(stat -c %d:%i /root/journal) cardvault serve >/root/journal 2>&1 &
for _ in $(seq 1200); do grep -q 'Stop with' /root/journal && break; sleep 0.1; done
cardvault account create --name Shop >/dev/null
kill -TERM $!; wait $!
cat /root/journal`;

function startsWithoutSecrets(machine: Machine): void {
  const journal = machine.run(SERVE);
  assert.match(journal, /operator-invitation/);
  assert.doesNotMatch(journal, /cv_(sandbox|production)_|join#/);
  const files = machine.run("stat -c '%A %U' /var/lib/cardvault/operator-invitation /var/lib/cardvault/root.key");
  assert.equal(files, '-rw------- cardvault\n-rw------- cardvault\n');
  assert.equal(machine.run('find /var/lib/cardvault ! -user cardvault'), '');
  assert.match(machine.run('cardvault account list'), /Shop/);
}

/** The unit in its sandbox, with the journal of systemd. The container is removed with everything in it. */
const UNDER_SYSTEMD = `systemctl start cardvault
for _ in $(seq 1200); do journalctl -u cardvault -o cat | grep -q 'Stop with' && break; sleep 0.1; done
echo "state=$(systemctl is-active cardvault)"
grep -E '^(CapEff|Seccomp|NoNewPrivs):' /proc/$(systemctl show -p MainPID --value cardvault)/status
stat -c '%n %A %U' /var/lib/cardvault/*
dpkg -i /root/present.deb >/dev/null 2>&1
echo "upgraded=$(systemctl is-active cardvault)"
systemctl stop cardvault
echo "result=$(systemctl show -p Result --value cardvault)"
journalctl -u cardvault -o cat`;

function runsUnderSystemd(machine: Machine): void {
  const printed = bootMachine(machine, UNDER_SYSTEMD);
  for (const line of ['state=active', 'upgraded=active', 'result=success', 'NoNewPrivs:\t1', 'Seccomp:\t2'])
    assert.ok(printed.includes(`${line}\n`), printed);
  assert.match(printed, /CapEff:\t0+\n/);
  assert.match(printed, /operator-invitation -rw------- cardvault\n/);
  assert.match(printed, /Console: the invitation link .* is in .*operator-invitation/);
  assert.doesNotMatch(printed, /cv_(sandbox|production)_|join#/);
}

/**
 * Prints a token of the card and what the vault knows of it. A persistent token is found by the card: after an upgrade the output
 * is the same only if the vault still reads its card and its records. The third argument is an earlier output, whose token is
 * read first, as it was written.
 */
const CLIENT = `import { readFileSync } from 'node:fs';
const [address, key, earlier] = process.argv.slice(2);
const call = async (path, body) => {
  const headers = { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) };
  const response = await fetch(address + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(path + ': ' + response.status);
  return (await response.json()).data;
};
const inspect = (token) => call('/v1/tokens/' + token + '/inspect');
const read = earlier && (await inspect(JSON.parse(readFileSync(earlier, 'utf8')).token));
const chd = [{ card: '${CARD}', name: 'Ana Lopez', exp: '12/29' }];
const { tokens } = await call('/v1/tokenization/simple', { chd, tags: [], scheme: 1, type: 'persistent' });
console.log(JSON.stringify({ token: tokens[0].token, inspected: read ?? (await inspect(tokens[0].token)) }));`;

/** Runs the client with the Node of the package. */
const RUN_CLIENT = `client() {
  NODE_EXTRA_CA_CERTS=/var/lib/cardvault/tls/ca.pem /usr/lib/cardvault/node_modules/node-linux-*/bin/node /root/client.mjs "$sandbox" "$@"
}
member() { sed -n 's/^  "'"$1"'": "\\(.*\\)",*$/\\1/p'; }`;

/** Makes an account, a key and a token, and reads the token. The key is kept in a file. */
const FILL = `account=$(cardvault account create --name Shop --json | member id)
cardvault key create --account $account --environment sandbox --name reader --ip 127.0.0.1 --ip ::1 --json | member key >/root/key
client $(cat /root/key) >/root/filled`;
/** Reads the same token. */
const READ = 'client $(cat /root/key) /root/filled >/root/read';
const COMPARE = 'test -s /root/filled && cmp /root/filled /root/read && cat /root/read';
const EXPECTED = /^\{"token":"411111\d{6}1111","inspected":\{.*"card_truncated":"411111\*{6}1111".*"name":"Ana Lopez"/m;

/** Runs a script beside the service. */
const beside = (script: string): string => `${RUN_CLIENT}
export CARDVAULT_PRODUCTION_PORT=0 CARDVAULT_SANDBOX_PORT=0 CARDVAULT_CONSOLE_PORT=0 CARDVAULT_CAPTURE_PORT=0
cardvault serve --json >/root/started 2>/root/journal &
for _ in $(seq 1200); do grep -q '^}' /root/started && break; sleep 0.1; done
sandbox=$(member sandbox </root/started)
${script}
kill -TERM $!; wait $!`;

function upgrades(machine: Machine, version: string): void {
  machine.run('dpkg -i /root/before.deb');
  assert.equal(machine.run('cardvault --version').trim(), released);
  machine.run(beside(FILL));
  machine.run("echo 'CARDVAULT_LOG_LEVEL=warn' >>/etc/cardvault/cardvault.env && dpkg -i /root/present.deb");
  assert.equal(machine.run('cardvault --version').trim(), version);
  machine.run('dpkg --verify cardvault');
  assert.equal(machine.run(MODES), EXPECTED_MODES);
  machine.run("grep -q '^CARDVAULT_LOG_LEVEL=warn' /etc/cardvault/cardvault.env");
  machine.run('setpriv --reuid=cardvault --regid=cardvault --init-groups cardvault account list');
  assert.match(machine.run('cardvault account list'), /Shop/);
  assert.match(machine.run(`${beside(READ)}\n${COMPARE}`), EXPECTED);
}

/** The container is removed with everything in it, so that the other upgrade begins without a vault. */
const UPGRADE_UNDER_SYSTEMD = `${RUN_CLIENT}
sandbox=https://localhost:8444
until_served() { for _ in $(seq 1200); do [ "$(journalctl -u cardvault -o cat | grep -c 'Stop with')" = $1 ] && break; sleep 0.1; done; }
systemctl start cardvault
until_served 1
echo "before=$(cardvault --version)"
${FILL}
process=$(systemctl show -p MainPID --value cardvault)
dpkg -i /root/present.deb >/dev/null 2>&1
until_served 2
echo "state=$(systemctl is-active cardvault)"
echo "version=$(cardvault --version)"
test "$process" != "$(systemctl show -p MainPID --value cardvault)"
${READ}
${COMPARE}
systemctl stop cardvault
echo "result=$(systemctl show -p Result --value cardvault)"`;

function upgradesUnderSystemd(machine: Machine, version: string): void {
  machine.run('dpkg -i /root/before.deb');
  const printed = bootMachine(machine, UPGRADE_UNDER_SYSTEMD);
  for (const line of [`before=${released}`, 'state=active', `version=${version}`, 'result=success'])
    assert.ok(printed.includes(`${line}\n`), printed);
  assert.match(printed, EXPECTED);
}

function removes(machine: Machine): void {
  machine.run('dpkg -r cardvault && test ! -e /usr/lib/cardvault && test ! -e /usr/bin/cardvault');
  machine.run('test -e /etc/cardvault/cardvault.env && test -e /var/lib/cardvault/root.key');
  const purged = machine.run('dpkg -P cardvault </dev/null');
  assert.match(purged, /\/var\/lib\/cardvault was kept/);
  machine.run('test ! -e /etc/cardvault && test -e /var/lib/cardvault/cardvault.db && id cardvault');
  // A new installation finds the vault again; without a vault a purge leaves no folder.
  machine.run('dpkg -i /root/present.deb && cardvault account list | grep -q Shop && dpkg -r cardvault');
  machine.run(
    'rm -r /var/lib/cardvault && dpkg -i /root/present.deb && dpkg -P cardvault && test ! -e /var/lib/cardvault',
  );
}
