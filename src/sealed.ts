import type { KeyObject } from 'node:crypto';
import { SERVICE_ORIGIN } from './audit/audit.ts';
import type { HeldRootKey } from './cli/context.ts';
import type { Config } from './config.ts';
import type { Clocks, OpenCore } from './core.ts';
import { groupIdOf, socketPlaceOf } from './crypto/custody/choose.ts';
import { readCustodiansFile, replaceForCustodians } from './crypto/custody/custodians-file.ts';
import { fetchRootKeys, type OpenSocket, openLocalSocket, type SocketService } from './crypto/custody/local-socket.ts';
import { previousPath } from './crypto/custody/replacement.ts';
import { readKeyCheckValue } from './crypto/custody/sealed-file.ts';
import { ShareCollector, type Unsealing, type UnsealProgress } from './crypto/custody/share-collector.ts';
import { NodeKey, type SealedShare } from './crypto/custody/share-transport.ts';
import { CustodyError, keyCheckValue, type RootKeys, SealedError } from './crypto/custody.ts';
import { systemRandom } from './crypto/random.ts';
import { ConnectionLimit, exemptAddresses } from './http/connection-limit.ts';
import type { Endpoint } from './http/endpoint.ts';
import { Listeners } from './http/listeners.ts';
import { describeError, type Log } from './http/log.ts';
import { Metrics, NO_WRITES } from './http/metrics.ts';
import { createSealedServer, type ShareReceiver } from './http/sealed-server.ts';
import type { HttpServer } from './http/server.ts';
import type { TlsOptions } from './http/tls.ts';
import { HOUR, MINUTE, SECOND } from './kernel/clock.ts';
import { runWithRootKeyLock } from './rotation/root-key-lock.ts';
import { fetchFromPeer, listenForPeers, type PeerListener } from './unseal-peers.ts';

/**
 * A node whose root key is split among custodians. It is sealed until they gave enough shares: it listens, responds to
 * health checks, and serves nothing else. Then it keeps the root key in memory, and gives it to commands on the machine
 * through its local socket.
 */

const LISTENERS = ['production', 'sandbox', 'console'] as const;
const CLEAR_INTERVAL_MS = MINUTE;
const PEER_INTERVAL_MS = 5 * SECOND;
/** One record for each user in this time: an operator may run a command every minute. */
const RECORD_INTERVAL_MS = HOUR;

/** Records that a command or another node gets the root key, before it does. */
type RecordGift = (recipient: string) => Promise<void>;

/** The shares that custodians give, and the root key once they gave enough. */
class Seal {
  readonly #collector: ShareCollector;
  readonly #unsealed = Promise.withResolvers<Unsealing>();
  readonly #recordedAt = new Map<string, number>();
  readonly #clock: Clocks['monotonic'];
  readonly #file: string;
  readonly #group: number | undefined;
  readonly #threshold: number;
  #nodeKey: NodeKey | undefined = new NodeKey();
  #unsealing: Unsealing | undefined;
  /** Undefined until the vault is open. */
  #recordGift: RecordGift | undefined;
  #findOther: () => Promise<RootKeys | undefined> = () => Promise.resolve(undefined);
  /** Shares are taken one at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor({ rootKey }: Config, clocks: Clocks) {
    this.#file = rootKey.file;
    this.#group = groupIdOf(rootKey.group);
    this.#clock = clocks.monotonic;
    this.#collector = new ShareCollector({ file: this.#file, group: this.#group, clock: clocks.monotonic });
    this.#threshold = readCustodiansFile(this.#file, this.#group).ceremony.threshold;
  }

  /** Resolves when enough shares were given. */
  get unsealed(): Promise<Unsealing> {
    return this.#unsealed.promise;
  }

  get progress(): UnsealProgress {
    if (this.#unsealing === undefined) return this.#collector.progress;
    return { threshold: this.#threshold, given: [], isUnsealed: true };
  }

  /** The key for which shares are encrypted; undefined once the node is unsealed. */
  get nodeKey(): string | undefined {
    return this.#nodeKey?.text;
  }

  /** Throws `CustodyError` for a share that does not count. */
  addShare(sealed: SealedShare, source: string): Promise<UnsealProgress> {
    const added = this.#last.then(async () => {
      const share = this.#nodeKey?.open(sealed);
      if (share === undefined) return this.progress;
      const unsealing = await this.#collector.add({ ...sealed, share }, source);
      if (unsealing !== undefined) this.accept(unsealing);
      return this.progress;
    });
    this.#last = added.catch(() => undefined);
    return added;
  }

  /** Takes the root key, also from another node. */
  accept(unsealing: Unsealing): void {
    this.#collector.clear();
    this.#nodeKey = undefined;
    this.#unsealing = unsealing;
    this.#unsealed.resolve(unsealing);
  }

  clearOldShares(): void {
    this.#collector.clearOld();
  }

  /** From now on the root key is given, because the audit log is open. */
  beginGiving(recordGift: RecordGift): void {
    this.#recordGift = recordGift;
  }

  /** `findOther`: finds the root key on another node, when the file has one that this node has not. */
  beginRefreshing(findOther: () => Promise<RootKeys | undefined>): void {
    this.#findOther = findOther;
  }

  /** Returns the root key for another node, once this is on record. Throws `SealedError`. */
  giveToPeer(recipient: string): Promise<RootKeys> {
    return this.#give(recipient, { isRepeatRecorded: true });
  }

  /** Returns the root key for a command, once this is on record. Throws `SealedError`. */
  async giveToCommand(recipient: string): Promise<RootKeys> {
    await this.#refresh();
    return this.#give(recipient, { isRepeatRecorded: false });
  }

  /** Another node may have rotated the root key, and the operator copied its file here. */
  async #refresh(): Promise<void> {
    const unsealing = this.#unsealing;
    if (unsealing === undefined) return;
    const { root } = unsealing.roots;
    const { keyCheckValue: value } = readCustodiansFile(this.#file, this.#group);
    if (value === keyCheckValue(root)) return;
    const other = await this.#findOther();
    if (other !== undefined) this.#unsealing = { ...unsealing, roots: { root: other.root, previous: root } };
  }

  async #give(recipient: string, { isRepeatRecorded }: { readonly isRepeatRecorded: boolean }): Promise<RootKeys> {
    if (this.#unsealing === undefined) throw new SealedError();
    if (this.#recordGift === undefined) throw new CustodyError('the node has the root key and is starting; try again');
    const now = this.#clock();
    const last = this.#recordedAt.get(recipient) ?? Number.NEGATIVE_INFINITY;
    if (isRepeatRecorded || now - last > RECORD_INTERVAL_MS) await this.#recordGift(recipient);
    this.#recordedAt.set(recipient, now);
    const { root, previous } = this.#unsealing.roots;
    // The end of a replacement destroys the former file.
    return { root, previous: this.#hasInFormerFile(previous) ? previous : undefined };
  }

  /** A file may be overwritten, or of another replacement than the one in memory. */
  #hasInFormerFile(key: KeyObject | undefined): boolean {
    const path = previousPath(this.#file);
    try {
      return key !== undefined && readKeyCheckValue(path, this.#group) === keyCheckValue(key);
    } catch {
      // A file that cannot be used keeps no command from the present key.
      return false;
    }
  }

  /** Seals another root key for the same custodians. Throws `SealedError`. */
  async replaceRootKey(next: KeyObject): Promise<void> {
    const unsealing = this.#unsealing;
    if (unsealing === undefined) throw new SealedError();
    await runWithRootKeyLock(this.#file, () => replaceForCustodians(this.#file, next, this.#group));
    this.#unsealing = { ...unsealing, roots: { root: next, previous: unsealing.roots.root } };
  }
}

/** Opens the local socket of a node. */
const openSealSocket = ({ rootKey }: Config, seal: Seal): Promise<OpenSocket> => {
  const service: SocketService = {
    progress: () => seal.progress,
    get nodeKey() {
      return seal.nodeKey;
    },
    addShare: (share, peer) => seal.addShare(share, `socket ${peer}`),
    giveRootKeys: (peer) => seal.giveToCommand(peer),
    replaceRootKey: (next) => seal.replaceRootKey(next),
  };
  return openLocalSocket(socketPlaceOf(rootKey), service);
};

/** A node that has the root key. */
export interface UnsealedNode {
  readonly roots: RootKeys;
  /** Writes how the node was unsealed into the audit log, and from then on who got the root key. */
  record(core: OpenCore): Promise<void>;
  close(): Promise<void>;
}

/**
 * Waits for the shares of the custodians. A node that starts beside an unsealed one, with the same data directory, gets
 * the root key from it as a command does.
 */
export async function unsealNode(parts: SealedParts): Promise<UnsealedNode> {
  const { config, clocks } = parts;
  const present = await findRootKeys(config);
  if (present !== undefined) return { roots: present, record: () => Promise.resolve(), close: () => Promise.resolve() };
  const seal = new Seal(config, clocks);
  seal.beginRefreshing(async () => (await findOnPeers(parts))?.roots);
  const socket = await openSealSocket(config, seal);
  let listener: PeerListener | undefined;
  try {
    const unsealing = await waitUntilUnsealed(parts, seal);
    return {
      roots: unsealing.roots,
      record: async (core) => {
        await recordUnsealing(core, seal, unsealing);
        listener = await openPeerListener(parts, seal);
      },
      close: async () => {
        await Promise.all([socket.close(), listener?.close()]);
      },
    };
  } catch (error) {
    await socket.close();
    throw error;
  }
}

/**
 * Holds the root key of custodians for commands while the service is stopped. `onGiven`: called with the user who gets the
 * root key; there may be no vault whose audit log could record it.
 */
export async function holdRootKey(
  config: Config,
  clocks: Clocks,
  onGiven: (recipient: string) => void,
): Promise<HeldRootKey> {
  if (config.rootKey.kind !== 'custodians')
    throw new CustodyError('only the root key of custodians is held for commands; see CARDVAULT_ROOT_KEY');
  const seal = new Seal(config, clocks);
  const socket = await openSealSocket(config, seal);
  const clearing = setInterval(() => seal.clearOldShares(), CLEAR_INTERVAL_MS).unref();
  seal.beginGiving(async (recipient) => onGiven(recipient));
  return {
    threshold: seal.progress.threshold,
    socket: config.rootKey.socket,
    close: () => {
      clearInterval(clearing);
      return socket.close();
    },
  };
}

async function findRootKeys({ rootKey }: Config): Promise<RootKeys | undefined> {
  try {
    return await fetchRootKeys(socketPlaceOf(rootKey));
  } catch (error) {
    if (error instanceof SealedError) return undefined;
    throw error;
  }
}

async function recordUnsealing({ transactions }: OpenCore, seal: Seal, { record }: Unsealing): Promise<void> {
  const { ceremony, shares, rejected } = record;
  await transactions.run({ origin: SERVICE_ORIGIN }, async (transaction) =>
    transaction.record({
      action: 'vault.unsealed',
      outcome: 'success',
      account: '',
      environment: '',
      detail: { ceremony, shares, rejected },
    }),
  );
  const event = { action: 'keyring.root-key-given', outcome: 'success', account: '', environment: '' } as const;
  seal.beginGiving((recipient) =>
    transactions.run({ origin: SERVICE_ORIGIN }, async (transaction) =>
      transaction.record({ ...event, detail: { recipient } }),
    ),
  );
}

/** Gives the root key to the other nodes of the vault, where the operator allowed it. */
async function openPeerListener({ config, log }: SealedParts, seal: Seal): Promise<PeerListener | undefined> {
  const { unsealPeers, hosts, rootKey } = config;
  if (unsealPeers === undefined) return undefined;
  const { ceremony } = readCustodiansFile(rootKey.file, groupIdOf(rootKey.group));
  return listenForPeers(unsealPeers, {
    hosts,
    ceremony: ceremony.id,
    giveRootKeys: (recipient) => seal.giveToPeer(recipient),
    onRefused: (reason, address) => log.warn('unsealing of another node refused', { reason, address }),
  });
}

/** Finds the root key of this node's file on another node. Undefined while none has it, or where no peers are configured. */
async function findOnPeers({ config, log }: SealedParts): Promise<Unsealing | undefined> {
  const { unsealPeers, rootKey } = config;
  if (unsealPeers === undefined) return undefined;
  const file = readCustodiansFile(rootKey.file, groupIdOf(rootKey.group));
  for (const peer of unsealPeers.peers) {
    const onMalformed = (): void => log.error('another node sent no valid root key', { address: peer.host });
    const roots = await fetchFromPeer(unsealPeers, peer, file.ceremony.id, onMalformed);
    if (roots === undefined) continue;
    if (keyCheckValue(roots.root) === file.keyCheckValue) {
      const shares = [`peer ${peer.host}:${peer.port} ${peer.fingerprint}`];
      return { roots, record: { ceremony: file.ceremony.id, shares, rejected: 0 } };
    }
    log.error('another node has another root key', { address: peer.host });
  }
  return undefined;
}

/** Asks the other nodes for the root key once, while this node is sealed. */
async function askPeers(parts: SealedParts, seal: Seal): Promise<void> {
  const unsealing = await findOnPeers(parts);
  if (unsealing !== undefined && !seal.progress.isUnsealed) seal.accept(unsealing);
}

interface SealedParts {
  readonly config: Config;
  readonly clocks: Clocks;
  readonly log: Log;
  readonly endpoints: readonly Endpoint[];
  readonly tls: TlsOptions;
}

/** Listens while the vault is sealed, and resolves with the root key once custodians have unsealed it. */
async function waitUntilUnsealed(parts: SealedParts, seal: Seal): Promise<Unsealing> {
  const { config, log, tls } = parts;
  const listeners = createSealedListeners(parts, seal);
  const clearing = setInterval(() => seal.clearOldShares(), CLEAR_INTERVAL_MS).unref();
  const asking = new PeerRounds(() => askPeers(parts, seal), log);
  try {
    await listeners.listen(config.ports, { hosts: config.hosts, tls });
    log.warn('vault sealed, waiting for shares of the custodians', { count: seal.progress.threshold });
    log.flush();
    asking.start();
    const unsealing = await seal.unsealed;
    log.info('vault unsealed');
    return unsealing;
  } finally {
    clearInterval(clearing);
    asking.stop();
    await listeners.close(config.drainMs);
  }
}

/** Runs rounds one after the other, with a pause between them. */
class PeerRounds {
  readonly #run: () => Promise<void>;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(run: () => Promise<void>, log: Log) {
    this.#run = run;
    this.#log = log;
  }

  start(): void {
    this.#run()
      .catch((error: unknown) => this.#log.error('asking other nodes for the root key failed', describeError(error)))
      .finally(() => {
        if (!this.#isStopped) this.#timer = setTimeout(() => this.start(), PEER_INTERVAL_MS).unref();
      });
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}

function createSealedListeners({ config, clocks, log, endpoints }: SealedParts, seal: Seal): Listeners<string> {
  const { trustedProxies, connectionsPerAddress } = config;
  const stopwatch = clocks.stopwatch ?? clocks.monotonic;
  const metrics = new Metrics(() => NO_WRITES);
  const random = systemRandom();
  const receiver: ShareReceiver = {
    progress: () => ({ ...seal.progress, key: seal.nodeKey }),
    addShare: (share, source) => seal.addShare(share, `tls ${source}`),
  };
  const serverOf = (listener: (typeof LISTENERS)[number]): HttpServer => {
    const isConsole = listener === 'console';
    const options = { stopwatch, log, metrics, listener, random, trustedProxies };
    return createSealedServer(options, isConsole ? [] : endpoints, isConsole ? receiver : undefined);
  };
  const apps = Object.fromEntries(LISTENERS.map((listener) => [listener, serverOf(listener)]));
  return new Listeners(
    apps,
    (listener) =>
      new ConnectionLimit({
        perAddress: connectionsPerAddress,
        isExempt: exemptAddresses(trustedProxies),
        clock: clocks.clock,
        onRefused: () => undefined,
        onReport: (address, count) => log.warn('connections refused', { listener, address, count }),
      }),
  );
}
