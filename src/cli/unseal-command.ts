import type { Command } from 'commander';
import type { SocketRequest } from '../crypto/custody/local-socket.ts';
import type { UnsealProgress } from '../crypto/custody/share-collector.ts';
import type { CliContext } from './context.ts';
import { printResult, UsageError } from './output.ts';
import { openShare, type ShareOptions, withShareOptions } from './share-options.ts';

interface UnsealOptions extends ShareOptions {
  readonly node?: string;
  readonly ca?: string;
  readonly json?: boolean;
}

/** Gives a share to a sealed node. */
export function unsealCommand(program: Command, tools: CliContext): void {
  withShareOptions(program.command('unseal'))
    .description('give a share to a sealed node; without --share, show how many it has')
    .option(
      '--node <url>',
      'another machine: https://HOST:PORT of its console; without it the node of this data directory',
    )
    .option('--ca <file>', 'CA of that node, PEM')
    .option('--json', 'print JSON')
    .action(async (options: UnsealOptions) => {
      const { share: path } = options;
      if (path === undefined && options.node !== undefined)
        throw new UsageError('--share: expected the share file of the custodian');
      const progress =
        path === undefined
          ? (await callNode(tools, { command: 'status' })).progress
          : await giveShare(tools, { ...options, share: path });
      printResult(tools, options.json, toView(progress), describe(progress));
    });
}

async function giveShare(
  tools: CliContext,
  options: UnsealOptions & { readonly share: string },
): Promise<UnsealProgress> {
  const { ceremony, index, share } = await openShare(tools, options);
  try {
    const { node } = options;
    if (node === undefined) return await giveLocally(tools, { ceremony, index, share });
    const { giveShareOverTls } = await import('../http/unseal-client.ts');
    return await giveShareOverTls({ url: node, caFile: options.ca }, { ceremony, index, share });
  } finally {
    share.fill(0);
  }
}

async function giveLocally(
  tools: CliContext,
  share: { readonly ceremony: string; readonly index: number; readonly share: Uint8Array },
): Promise<UnsealProgress> {
  const { sealShare } = await import('../crypto/custody/share-transport.ts');
  const { key, progress } = await callNode(tools, { command: 'status' });
  // An unsealed node needs no share, and has no key for one.
  if (progress.isUnsealed) return progress;
  return (await callNode(tools, { command: 'share', ...sealShare(key, share) })).progress;
}

interface NodeAnswer {
  readonly progress: UnsealProgress;
  readonly key?: unknown;
}

async function callNode(tools: CliContext, request: SocketRequest): Promise<NodeAnswer> {
  const [{ socketPlaceOf }, { callLocalSocket }] = await Promise.all([
    import('../crypto/custody/choose.ts'),
    import('../crypto/custody/local-socket.ts'),
  ]);
  const place = socketPlaceOf(tools.paths().rootKey);
  const answer = await callLocalSocket(place, request);
  if (answer === undefined)
    throw new UsageError(
      `no node of this data directory waits for shares (${place.path}); start the service with CARDVAULT_ROOT_KEY=custodians:…`,
    );
  return answer as unknown as NodeAnswer;
}

const toView = ({ isUnsealed, threshold, given }: UnsealProgress) => ({ unsealed: isUnsealed, threshold, given });

const describe = ({ isUnsealed, threshold, given }: UnsealProgress): string => {
  if (isUnsealed) return 'the vault is unsealed';
  const shares = given.length === 0 ? '' : `: ${given.join(', ')}`;
  return `the vault is sealed; it has ${given.length} of ${threshold} shares${shares}`;
};
