import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { toDebianVersion } from '../../scripts/release/debian.ts';
import { memoryFolder } from '../fixtures/postgres-server.ts';
import {
  bootMachine,
  canBoot,
  cloneAgain,
  cloneCheckout,
  copyOfMachine,
  type Machine,
  makeRelease,
  newLargeFolder,
  raiseVersion,
  whyNoCopyOfMachine,
  whyNoRelease,
} from '../fixtures/release.ts';
import { onlyLong } from '../scope.ts';

/** The Debian package, installed by dpkg in a copy of this machine. */

const ROOT = join(import.meta.dirname, '..', '..');
const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;
const NEXT = '99.0.0';
const memory = onlyLong === false ? mkdtempSync(join(memoryFolder() ?? '/dev/shm', 'cardvault-test-')) : '';
after(() => rmSync(memory, { recursive: true, force: true }));
const skip = onlyLong || whyNoRelease() || whyNoCopyOfMachine(memory);

describe('the Debian package', { skip, timeout: 3_600_000 }, () => {
  const folder = skip === false ? newLargeFolder() : '';
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const machine = copyOfMachine(memory);

  before(async () => {
    const [one, other] = [join(folder, 'one'), join(folder, 'other')];
    cloneCheckout(one);
    cloneAgain(one, other);
    raiseVersion(other, NEXT);
    await Promise.all([one, other].map((clone) => makeRelease(clone, ['--deb', '--out', join(folder, 'out')])));
    machine.copyIn(join(folder, 'out', `cardvault_${toDebianVersion(version)}_${ARCHITECTURE}.deb`), 'root/first.deb');
    machine.copyIn(join(folder, 'out', `cardvault_${toDebianVersion(NEXT)}_${ARCHITECTURE}.deb`), 'root/next.deb');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('is installed with its user, settings and folder, and starts nothing', () => installs(machine, version));
  test('runs under systemd in its sandbox, and prints no key into the journal', (context) =>
    canBoot(machine) ? runsUnderSystemd(machine) : context.skip('systemd-container cannot be installed'));
  test('keeps key and link out of its output without systemd as well', () => startsWithoutSecrets(machine));
  test('is upgraded, with settings and vault as they were', () => upgrades(machine));
  test('is removed and purged, and keeps the vault', () => removes(machine));
});

const MODES = "stat -c '%A %U:%G' /etc/cardvault/cardvault.env /var/lib/cardvault";
const EXPECTED_MODES = '-rw-r----- root:cardvault\ndrwx------ cardvault:cardvault\n';

function installs(machine: Machine, version: string): void {
  machine.run('dpkg -i /root/first.deb && dpkg --verify cardvault');
  assert.equal(machine.run('cardvault --version').trim(), version);
  assert.equal(machine.run(MODES), EXPECTED_MODES);
  assert.equal(machine.run('ls -A /var/lib/cardvault'), '', 'nothing starts');
  machine.run('test ! -e /etc/systemd/system/multi-user.target.wants/cardvault.service');
  // Each script may run again, as after an interruption.
  machine.run(`/var/lib/dpkg/info/cardvault.postinst configure ${toDebianVersion(version)} && dpkg -i /root/first.deb`);
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
dpkg -i /root/first.deb >/dev/null 2>&1
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

function upgrades(machine: Machine): void {
  machine.run("echo 'CARDVAULT_LOG_LEVEL=warn' >>/etc/cardvault/cardvault.env && dpkg -i /root/next.deb");
  assert.equal(machine.run('cardvault --version').trim(), NEXT);
  assert.equal(machine.run(MODES), EXPECTED_MODES);
  machine.run("grep -q '^CARDVAULT_LOG_LEVEL=warn' /etc/cardvault/cardvault.env");
  machine.run('setpriv --reuid=cardvault --regid=cardvault --init-groups cardvault account list');
  assert.match(machine.run('cardvault account list'), /Shop/);
}

function removes(machine: Machine): void {
  machine.run('dpkg -r cardvault && test ! -e /usr/lib/cardvault && test ! -e /usr/bin/cardvault');
  machine.run('test -e /etc/cardvault/cardvault.env && test -e /var/lib/cardvault/root.key');
  const purged = machine.run('dpkg -P cardvault </dev/null');
  assert.match(purged, /\/var\/lib\/cardvault was kept/);
  machine.run('test ! -e /etc/cardvault && test -e /var/lib/cardvault/cardvault.db && id cardvault');
  // A new installation finds the vault again; without a vault a purge leaves no folder.
  machine.run('dpkg -i /root/next.deb && cardvault account list | grep -q Shop && dpkg -r cardvault');
  machine.run(
    'rm -r /var/lib/cardvault && dpkg -i /root/next.deb && dpkg -P cardvault && test ! -e /var/lib/cardvault',
  );
}
