import { setTimeout as wait } from 'node:timers/promises';
import type { Dice } from '../simulation/dice.ts';
import type { Cluster } from './cluster.ts';
import type { Link } from './link.ts';
import type { Node } from './node.ts';
import type { Stage } from './stage.ts';

/** When a fault began and ended, milliseconds of the right clock, and whom it hit. */
export interface Hit {
  readonly began: number;
  readonly ended: number;
  readonly whom: string;
}

export interface Fault {
  readonly name: string;
  readonly about: string;
  /** Why it cannot be done on this stage. */
  readonly lacks?: (stage: Stage) => string | undefined;
  /** Breaks something and makes it whole again. */
  run(stage: Stage, dice: Dice): Promise<Hit>;
  /** Steps that an operator has to take afterwards, while the service runs. */
  repair?(stage: Stage): Promise<void>;
}

const SECOND = 1000;
const HOUR = 3_600_000;
/** A failover manager has noticed by then. */
const NOTICED_MS = 1000;
const DOWN_MS = 2000;
/** A node reads every 20 milliseconds what its clock is to be. */
const OBEYS_WITHIN_MS = 500;
/** Below and beyond what a node waits for a connection and an answer. */
const HOLES_MS = [2000, 6000, 16_000];
const DELAY_MS = 50;
/** Longer than any lease that one node holds against another. */
const PAUSED_MS = 14_000;
const STOOD_STILL_MS = 10_000;

const needsCluster = ({ cluster }: Stage): string | undefined =>
  cluster === undefined ? 'it needs PostgreSQL' : undefined;
const clusterOf = ({ cluster }: Stage): Cluster => cluster as Cluster;
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
function someLinks({ nodes, links }: Stage, dice: Dice): { readonly whom: string; readonly links: readonly Link[] } {
  const one = dice.percent(50) ? dice.pick(nodes) : undefined;
  return one === undefined
    ? { whom: 'all nodes', links: links.flat() }
    : { whom: named(one), links: links[one.number - 1] ?? [] };
}

const each = (links: readonly Link[], act: (link: Link) => void): void => {
  for (const link of links) act(link);
};

/** In this order in the first round. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'node-kill',
    about: 'kill -9 of a node, which is started again',
    async run({ nodes }, dice) {
      const node = dice.pick(nodes);
      const began = Date.now();
      await node.kill();
      await wait(DOWN_MS);
      const ended = Date.now();
      await node.start();
      return { began, ended, whom: named(node) };
    },
  },
  {
    name: 'primary-kill',
    about: 'kill -9 of the database, and its standby takes over; the old one comes back as the standby',
    lacks: needsCluster,
    async run(stage) {
      const cluster = clusterOf(stage);
      const began = Date.now();
      await cluster.killPrimary();
      await wait(NOTICED_MS);
      await cluster.promote();
      return { began, ended: Date.now(), whom: 'all nodes' };
    },
    repair: (stage) => clusterOf(stage).addStandby(),
  },
  {
    name: 'reset',
    about: 'all connections to the database are cut, five times',
    lacks: needsCluster,
    async run({ links }, dice) {
      const began = Date.now();
      for (let time = 0; time < 5; time++) {
        each(links.flat(), (link) => link.reset());
        await wait(dice.between(100, 600));
      }
      each(links.flat(), (link) => link.reset());
      return { began, ended: Date.now(), whom: 'all nodes' };
    },
  },
  {
    name: 'black-hole',
    about: 'nothing gets through to the database and back; then all of it does',
    lacks: needsCluster,
    async run(stage, dice) {
      const { whom, links } = someLinks(stage, dice);
      const trouble = (word: 'hole' | 'none') => each(links, (link) => link.trouble(word));
      return between(
        whom,
        () => trouble('hole'),
        dice.pick(HOLES_MS),
        () => trouble('none'),
      );
    },
  },
  {
    name: 'lost-answers',
    about: 'the database gets everything and its answers are lost; then the connections break',
    lacks: needsCluster,
    async run(stage, dice) {
      const { whom, links } = someLinks(stage, dice);
      const end = (link: Link): void => {
        link.reset();
        link.trouble('none');
      };
      return between(
        whom,
        () => each(links, (link) => link.trouble('mute')),
        dice.between(500, 4000),
        () => each(links, end),
      );
    },
  },
  {
    name: 'delay',
    about: 'everything to and from the database takes longer',
    lacks: needsCluster,
    async run(stage, dice) {
      const { whom, links } = someLinks(stage, dice);
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
    lacks: (stage) =>
      needsCluster(stage) ?? (stage.hasDisks ? undefined : 'no disk could be mounted for it on this machine'),
    async run(stage) {
      const cluster = clusterOf(stage);
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
    async run({ nodes }, dice) {
      const node = dice.pick(nodes);
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
    async run({ nodes }, dice) {
      const node = dice.pick(nodes);
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
    async run({ nodes, stock }, dice) {
      const node = dice.pick(nodes);
      const jump = { from: Date.now(), to: Infinity };
      stock.clockAhead.push(jump);
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
    about: 'a whole node stands still for longer than its leases, and goes on',
    async run({ nodes }, dice) {
      const node = dice.pick(nodes);
      return between(
        named(node),
        () => node.pause(),
        PAUSED_MS,
        () => node.resume(),
      );
    },
  },
];
