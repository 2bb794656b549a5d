import { setTimeout as wait } from 'node:timers/promises';
import type { SeededRandom } from '../simulation/seeded-random.ts';
import type { DatabaseCluster } from './database-cluster.ts';
import type { NetworkLink } from './network-link.ts';
import type { Node } from './node.ts';
import { PatroniCluster } from './patroni.ts';
import type { Testbed } from './testbed.ts';

/** Start and end of a fault, in milliseconds of the right clock, and the affected nodes. */
export interface Hit {
  readonly began: number;
  readonly ended: number;
  readonly whom: string;
}

export interface Fault {
  readonly name: string;
  readonly about: string;
  /** The reason why this testbed cannot have the fault; undefined when it can. */
  readonly lacks?: (testbed: Testbed) => string | undefined;
  /** Injects the fault and ends it. */
  run(testbed: Testbed, seeded: SeededRandom): Promise<Hit>;
  /** Steps that an operator has to take afterwards, while the service runs. */
  repair?(testbed: Testbed): Promise<void>;
}

const SECOND = 1000;
const HOUR = 3_600_000;
const MANY = 2 ** 16;
/** A failover manager has detected it by then. */
const NOTICED_MS = 1000;
const DOWN_MS = 2000;
/** A node reads the offset of its clock every 20 milliseconds. */
const OBEYS_WITHIN_MS = 500;
/** Below and beyond a node's timeouts for a connection and a response. */
const HOLES_MS = [2000, 6000, 16_000];
const DELAY_MS = 50;
/** Longer than any lease of a node. */
const PAUSED_MS = 14_000;
const STOOD_STILL_MS = 10_000;

const needsCluster = ({ cluster }: Testbed): string | undefined =>
  cluster === undefined ? 'it needs PostgreSQL' : undefined;
const needsPatroni = ({ cluster }: Testbed): string | undefined =>
  cluster instanceof PatroniCluster ? undefined : 'it needs Patroni';
const clusterOf = ({ cluster }: Testbed): DatabaseCluster => cluster as DatabaseCluster;
const patroniOf = ({ cluster }: Testbed): PatroniCluster => cluster as PatroniCluster;
const named = ({ number }: Node): string => `node ${number}`;

/** A fault from its start until its end. */
async function between(whom: string, begin: () => unknown, lasts: number, end: () => unknown): Promise<Hit> {
  const began = Date.now();
  await begin();
  await wait(lasts);
  const ended = Date.now();
  await end();
  return { began, ended, whom };
}

/** The links of one node, or of all. */
function someLinks(
  { nodes, links }: Testbed,
  seeded: SeededRandom,
): { readonly whom: string; readonly links: readonly NetworkLink[] } {
  const one = seeded.percent(50) ? seeded.pick(nodes) : undefined;
  return one === undefined
    ? { whom: 'all nodes', links: links.flat() }
    : { whom: named(one), links: links[one.number - 1] ?? [] };
}

const each = (links: readonly NetworkLink[], act: (link: NetworkLink) => void): void => {
  for (const link of links) act(link);
};

/** In this order in the first round. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'node-kill',
    about: 'kill -9 of a node, which is started again',
    async run({ nodes }, seeded) {
      const node = seeded.pick(nodes);
      const began = Date.now();
      await node.kill();
      await wait(DOWN_MS);
      const ended = Date.now();
      await node.start();
      return { began, ended, whom: named(node) };
    },
  },
  {
    name: 'thread-kill',
    about: 'a request thread of each node ends in the middle of its work, and is replaced',
    lacks: ({ workers }) => (workers > 1 ? undefined : 'it needs nodes with several request threads'),
    async run({ nodes }, seeded) {
      const began = Date.now();
      await Promise.all(nodes.map((node) => node.endThread(seeded.below(MANY))));
      return { began, ended: Date.now(), whom: 'all nodes' };
    },
  },
  {
    name: 'primary-kill',
    about: 'kill -9 of the database, and its standby takes over; the old one comes back as the standby',
    lacks: needsCluster,
    async run(testbed) {
      const cluster = clusterOf(testbed);
      const began = Date.now();
      await cluster.killPrimary();
      await wait(NOTICED_MS);
      await cluster.promote();
      return { began, ended: Date.now(), whom: 'all nodes' };
    },
    repair: (testbed) => clusterOf(testbed).addStandby(),
  },
  {
    name: 'manager-kill',
    about: 'kill -9 of Patroni beside the primary, which continues while the standby takes over',
    lacks: needsPatroni,
    async run(testbed) {
      const cluster = patroniOf(testbed);
      const began = Date.now();
      await cluster.killManager();
      await cluster.promote();
      return { began, ended: Date.now(), whom: 'all nodes' };
    },
    repair: (testbed) => clusterOf(testbed).addStandby(),
  },
  {
    name: 'switchover',
    about: 'a planned change of the primary by Patroni',
    lacks: needsPatroni,
    async run(testbed) {
      const began = Date.now();
      await patroniOf(testbed).switchOver();
      return { began, ended: Date.now(), whom: 'all nodes' };
    },
    repair: (testbed) => clusterOf(testbed).addStandby(),
  },
  {
    name: 'pooler-kill',
    about: 'kill -9 of PgBouncer before each server, which is started again',
    lacks: ({ poolers }) => (poolers.length > 0 ? undefined : 'it needs PgBouncer'),
    async run({ poolers }) {
      const began = Date.now();
      await Promise.all(poolers.map((pooler) => pooler.kill()));
      await wait(DOWN_MS);
      await Promise.all(poolers.map((pooler) => pooler.restart()));
      return { began, ended: Date.now(), whom: 'all nodes' };
    },
  },
  {
    name: 'reset',
    about: 'all connections to the database are cut, five times',
    lacks: needsCluster,
    async run({ links }, seeded) {
      const began = Date.now();
      for (let time = 0; time < 5; time++) {
        each(links.flat(), (link) => link.reset());
        await wait(seeded.between(100, 600));
      }
      each(links.flat(), (link) => link.reset());
      return { began, ended: Date.now(), whom: 'all nodes' };
    },
  },
  {
    name: 'black-hole',
    about: 'nothing gets through to the database and back; then all of it does',
    lacks: needsCluster,
    async run(testbed, seeded) {
      const { whom, links } = someLinks(testbed, seeded);
      const trouble = (mode: 'hole' | 'none') => each(links, (link) => link.trouble(mode));
      return between(
        whom,
        () => trouble('hole'),
        seeded.pick(HOLES_MS),
        () => trouble('none'),
      );
    },
  },
  {
    name: 'lost-answers',
    about: 'the database gets everything and its answers are lost; then the connections break',
    lacks: needsCluster,
    async run(testbed, seeded) {
      const { whom, links } = someLinks(testbed, seeded);
      const end = (link: NetworkLink): void => {
        link.reset();
        link.trouble('none');
      };
      return between(
        whom,
        () => each(links, (link) => link.trouble('mute')),
        seeded.between(500, 4000),
        () => each(links, end),
      );
    },
  },
  {
    name: 'delay',
    about: 'everything to and from the database takes longer',
    lacks: needsCluster,
    async run(testbed, seeded) {
      const { whom, links } = someLinks(testbed, seeded);
      const delay = (milliseconds: number) => each(links, (link) => link.delay(milliseconds));
      return between(
        whom,
        () => delay(DELAY_MS),
        5 * SECOND,
        () => delay(0),
      );
    },
  },
  {
    name: 'disk-full',
    about: 'the disk of the database is full, and then has room again',
    lacks: (testbed) =>
      needsCluster(testbed) ?? (testbed.hasDisks ? undefined : 'no disk could be mounted for it on this machine'),
    async run(testbed) {
      const cluster = clusterOf(testbed);
      return between(
        'all nodes',
        () => cluster.fillDisk(),
        6 * SECOND,
        () => cluster.freeDisk(),
      );
    },
  },
  {
    name: 'clock-stops',
    about: 'the wall clock of one node stands still',
    lacks: needsCluster,
    async run({ nodes }, seeded) {
      const node = seeded.pick(nodes);
      return between(
        named(node),
        () => node.clock('stop'),
        STOOD_STILL_MS,
        () => node.clock(''),
      );
    },
  },
  {
    name: 'clock-jumps',
    about: 'the wall clock of one node is an hour ahead, then an hour behind',
    lacks: needsCluster,
    async run({ nodes }, seeded) {
      const node = seeded.pick(nodes);
      const began = Date.now();
      for (const ahead of [HOUR, -HOUR]) {
        node.clock(String(ahead));
        await wait(4 * SECOND);
      }
      node.clock('');
      return { began, ended: Date.now(), whom: named(node) };
    },
  },
  {
    name: 'time-jumps',
    about: 'the clock that decides is 200 hours ahead for seconds',
    lacks: ({ cluster }) => (cluster === undefined ? undefined : 'the database tells the time'),
    async run({ nodes, expectedRecords }, seeded) {
      const node = seeded.pick(nodes);
      const jump = { from: Date.now(), to: Infinity };
      expectedRecords.clockAhead.push(jump);
      const hit = await between(
        named(node),
        () => node.clock(String(200 * HOUR)),
        9 * SECOND,
        () => node.clock(''),
      );
      jump.to = hit.ended + OBEYS_WITHIN_MS;
      return hit;
    },
  },
  {
    name: 'pause',
    about: 'a node is paused for longer than its leases, and continues',
    async run({ nodes }, seeded) {
      const node = seeded.pick(nodes);
      return between(
        named(node),
        () => node.pause(),
        PAUSED_MS,
        () => node.resume(),
      );
    },
  },
];
