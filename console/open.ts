import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import type { ShippingTarget } from '../src/audit/shipping.ts';
import type { Core, FirstOperator } from '../src/cli/context.ts';
import type { PublicRoute } from '../src/http/server.ts';
import type { OverdueKeys } from '../src/rotation/key-ages.ts';
import type { RotatedColumns } from '../src/storage/digest-columns.ts';
import type { PeriodicWork, Sweep } from '../src/storage/periodic-task.ts';
import type { Table } from '../src/storage/table.ts';
import type { AlertMails } from './alerts/alert-mails.ts';
import type { Mail, SmtpServer } from './alerts/smtp.ts';
import type { Approvals } from './approvals/approvals.ts';
import { addOperatorCommands, formatJoinUrl } from './cli.ts';
import type { PeopleOptions, PeopleServices } from './people/people-services.ts';
import type { ConsoleDependencies, ConsoleInterface, ConsoleLimits } from './server/console.ts';

/** Services of the vault for the routes of the console. */
export type VaultServices = Omit<ConsoleDependencies, 'people' | 'approvals'>;

/** Facts about the service that alerts need. */
interface AlertFacts {
  /** Expiry of the listeners' certificate; undefined when it cannot be read. */
  certificateEnd(): number | undefined;
  /** Milliseconds after which a backup, and a drill, are overdue; undefined: never. */
  readonly backupMaxAges: Readonly<Record<'backup' | 'drill', number | undefined>>;
  /** Address of the console. */
  consoleUrl(): string;
  /** The server that sends mails; undefined: none. */
  readonly smtp: SmtpServer | undefined;
  /** Receivers of the audit log. */
  readonly auditReceivers: readonly ShippingTarget[];
  /** Keys that are older than their period. */
  countOverdueKeys(): Promise<OverdueKeys>;
}

/** Interface, headers and files of the console listener. */
interface ServedConsole extends ConsoleInterface {
  /** Headers of every response of the listener. */
  headers(request: FastifyRequest): Readonly<Record<string, string>>;
  readonly assets: readonly PublicRoute[];
}

/** The console over an opened vault. */
export interface OpenedConsole {
  readonly people: PeopleServices;
  readonly approvals: Approvals;
  readonly firstOperator: FirstOperator;
  serve(services: VaultServices, limits: ConsoleLimits): Promise<ServedConsole>;
  /** Deletion of the console's records that are due; one node does it for all. */
  sweeps(onExempted: (count: number) => void): Sweep[];
  /** Periodic work that one node does for all. */
  singleNodeTasks(facts: AlertFacts, onMailError: (error: unknown) => void): Promise<PeriodicWork[]>;
  /** The columns of the console's tables that depend on keys, for rotations. */
  readonly rotatedColumns: RotatedColumns;
  /** Periodic work of each node. */
  readonly tasks: readonly PeriodicWork[];
  /** Writes what this process still holds in memory, before the service stops. */
  flush(): Promise<void>;
}

/** The commands of the console, for the command line of the vault. */
export const operatorCommands = addOperatorCommands;

/** The columns of the console that depend on keys, which a drill opens, and a rotation of keys replaces. */
export const listRotatedConsoleColumns = async (): Promise<RotatedColumns> =>
  (await import('./tables.ts')).ROTATED_CONSOLE_COLUMNS;

export const listConsoleTables = async (): Promise<readonly Table[]> => (await import('./tables.ts')).CONSOLE_TABLES;

const BUILT_FILES = join(import.meta.dirname, 'web', 'dist');

/**
 * Opens the console over a vault, and gives the vault approvals for changes under dual control. The door of this folder:
 * nothing else of it is imported by the vault, which starts and serves its interface without it. It loads the rest of the
 * folder when a vault is opened, so that the help of the command line does not wait for it.
 */
export async function openConsole(vault: Core, { derive }: Pick<PeopleOptions, 'derive'> = {}): Promise<OpenedConsole> {
  const [{ AlertEvaluation }, { Approvals }, { createPeopleServices }, { InactiveUsers }] = await Promise.all([
    import('./alerts/alerts.ts'),
    import('./approvals/approvals.ts'),
    import('./people/people-services.ts'),
    import('./people/inactive-users.ts'),
  ]);
  const people = createPeopleServices({ ...vault, ...(derive && { derive }) });
  const approvals = new Approvals({ ...vault, approvers: people.team });
  vault.changeControl.connectApprovals(approvals);
  const { invitations, sessions, repeats, team } = people;
  return {
    people,
    approvals,
    firstOperator: {
      invite: async (consoleUrl, origin) => {
        const link = await vault.transactions.run({ origin }, (transaction) =>
          invitations.inviteFirstOperator(transaction),
        );
        return link === undefined ? undefined : formatJoinUrl(consoleUrl, link);
      },
      exists: () => team.hasOperator(),
    },
    serve: async (services, limits) => {
      // Half of all that is loaded; commands work without it.
      const { createConsoleInterface, PAGES } = await import('./server/console.ts');
      const { assetRoutes, browserHeaders, loadAssets } = await import('./server/assets.ts');
      return {
        ...createConsoleInterface({ ...services, people, approvals }, limits),
        headers: browserHeaders(services.serviceInfo.strictTransport),
        assets: assetRoutes(loadAssets(BUILT_FILES), PAGES, services),
      };
    },
    sweeps: (onExempted) => {
      const inactive = new InactiveUsers(vault, onExempted);
      return [
        { kind: 'sessions', run: (now) => sessions.sweep(now) },
        { kind: 'approvals', run: (now) => approvals.sweep(now) },
        { kind: 'inactive users', isDue: (now) => inactive.isDue(now), run: (now) => inactive.run(now) },
      ];
    },
    singleNodeTasks: async (facts, onMailError) => {
      const mails = facts.smtp && (await openMails(vault, facts, facts.smtp, onMailError));
      const evaluation = new AlertEvaluation(vault, { ...vault, ...facts }, mails?.queue);
      const alerts = { kind: 'alerts', run: () => evaluation.run() };
      return mails === undefined ? [alerts] : [alerts, ...mails.tasks];
    },
    rotatedColumns: await listRotatedConsoleColumns(),
    tasks: [{ kind: 'repeated refusals', run: () => repeats.flush() }],
    flush: () => repeats.flush({ all: true }),
  };
}

/** Loads what sends mails only where a server is configured. */
async function openMails(
  vault: Core,
  { consoleUrl }: AlertFacts,
  server: SmtpServer,
  onError: (error: unknown) => void,
): Promise<Pick<AlertMails, 'queue'> & { readonly tasks: readonly PeriodicWork[] }> {
  const [{ AlertMails }, { PersonMails }, { SmtpSender }] = await Promise.all([
    import('./alerts/alert-mails.ts'),
    import('./alerts/person-mails.ts'),
    import('./alerts/smtp.ts'),
  ]);
  const sender = new SmtpSender(server);
  const { from } = server;
  const options = { send: (mail: Mail) => sender.send(mail), consoleUrl, from, onError };
  const [ofAlerts, ofPeople] = [new AlertMails(vault, options), new PersonMails(vault, options)];
  return {
    queue: (...change) => ofAlerts.queue(...change),
    tasks: [
      { kind: 'mails', run: () => ofPeople.send() },
      { kind: 'mails', run: () => ofAlerts.send() },
    ],
  };
}
