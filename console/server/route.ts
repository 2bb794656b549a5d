import type { Accounts } from '../../src/accounts/accounts.ts';
import type { ChangeControl, Consent, SummaryLine } from '../../src/accounts/change-control.ts';
import type { RequestLogQuery } from '../../src/accounts/request-log-query.ts';
import type { AuditLogQuery } from '../../src/audit/audit-log-query.ts';
import type { CaptureSessions } from '../../src/capture-sessions/capture-sessions.ts';
import type { CaptureQueries } from '../../src/captures/capture-queries.ts';
import type { Captures } from '../../src/captures/captures.ts';
import type { DeletionReceipts } from '../../src/captures/deletion-receipts.ts';
import type { DigestKeys } from '../../src/crypto/digest-keys.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import type { SigningKeys } from '../../src/crypto/signing-key.ts';
import type { CardFormListener } from '../../src/http/endpoint.ts';
import type {
  Grant,
  Handler,
  Route as HttpRoute,
  RouteCall,
  StagedHandler,
  StreamedFile,
} from '../../src/http/route.ts';
import type { Workbench } from '../../src/http/workbench.ts';
import type { Transactions } from '../../src/idempotency/transaction.ts';
import type { Clock, Random } from '../../src/kernel/clock.ts';
import type { Environment, Tenant } from '../../src/kernel/environment.ts';
import type { Json } from '../../src/kernel/json.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { TimeGuard } from '../../src/kernel/time-guard.ts';
import type { PaymentActivations } from '../../src/payments/payment-activations.ts';
import type { PaymentQueries } from '../../src/payments/payment-queries.ts';
import type { Payments } from '../../src/payments/payments.ts';
import type { UnknownOutcomes } from '../../src/payments/unknown-outcomes.ts';
import type { PayloadProxy } from '../../src/proxy/payload-proxy.ts';
import type { ProxyConfigurations } from '../../src/proxy/proxy-configurations.ts';
import type { Driver } from '../../src/storage/database.ts';
import type { TokenQueries } from '../../src/vault/token-queries.ts';
import type { TokenRetention } from '../../src/vault/token-retention.ts';
import type { Vault } from '../../src/vault/vault.ts';
import type { Webhooks } from '../../src/webhooks/webhooks.ts';
import type { Alerts } from '../alerts/alerts.ts';
import type { RequestedCall } from '../approvals/approval.ts';
import type { Approvals } from '../approvals/approvals.ts';
import type { DualControlQuestion } from '../approvals/dual-control-question.ts';
import type { ClientContext, RelyingParty } from '../people/client-context.ts';
import type { Profile } from '../people/people.ts';
import type { PeopleServices } from '../people/people-services.ts';
import type { Role } from '../people/roles.ts';
import type { Session } from '../people/session.ts';
import type { IssuedSession } from '../people/sessions.ts';
import type { Definition } from '../wire/definition.ts';
import type { ActivationRequests } from './activation-requests.ts';
import type { ListCounts } from './list-counts.ts';
import type { RecordTotals } from './record-totals.ts';
import type { UsageOverview } from './usage-overview.ts';

/** Services of the routes. */
export interface ConsoleServices {
  readonly database: Driver;
  readonly keyring: Keyring;
  readonly journalKey: DigestKeys;
  readonly signingKeys: SigningKeys;
  readonly clock: Clock;
  readonly time: TimeGuard;
  readonly random: Random;
  readonly people: PeopleServices;
  readonly accounts: Accounts;
  readonly approvals: Approvals;
  readonly changeControl: ChangeControl;
  readonly dualControlQuestion: DualControlQuestion;
  readonly activations: PaymentActivations;
  readonly requests: ActivationRequests;
  readonly configurations: ProxyConfigurations;
  readonly vault: Vault;
  readonly retention: TokenRetention;
  readonly captures: Captures;
  readonly captureSessions: CaptureSessions;
  readonly cardForm: CardFormListener;
  readonly payments: Payments;
  readonly unknownOutcomes: UnknownOutcomes;
  readonly proxy: PayloadProxy;
  readonly webhooks: Webhooks;
  readonly transactions: Transactions;
  readonly usageOverview: UsageOverview;
  readonly totals: RecordTotals;
  readonly listCounts: ListCounts;
  readonly tokenQueries: TokenQueries;
  readonly captureQueries: CaptureQueries;
  readonly paymentQueries: PaymentQueries;
  readonly auditReading: AuditLogQuery;
  readonly receipts: DeletionReceipts;
  readonly requestLogQuery: RequestLogQuery;
  readonly alerts: Alerts;
  readonly workbench: Workbench;
  readonly serviceInfo: ServiceInfo;
  /** Changes that can need approval, by their value of `dualControl`. */
  readonly changes: ReadonlyMap<string, ApprovableChange>;
}

/** A change that can be executed after its approval. Its result is the data that the definition declares. */
export interface ApprovableChange {
  readonly definition: Definition;
  /** Returns the call that was requested, made by the caller of `call`. */
  toCall(call: AnyCall, requestedCall: RequestedCall, environment: Environment): AnyCall;
  readonly stages: StagedHandler<AnyCall, Json, ConsoleServices>;
}

/** Information about the service itself. */
interface ServiceInfo {
  readonly version: string;
  /** Address of the interface; known once the listeners listen. */
  apiUrl(environment: Environment): string;
  readonly startedAt: number;
  /** True when a server that sends mails is configured. */
  readonly sendsMails: boolean;
  /** The header of pages by which browsers use TLS alone. */
  readonly strictTransport: string;
  readonly isShared: boolean;
  /** True when a crash may leave the memory in a file; undefined where the system does not say. */
  readonly coreDumps: boolean | undefined;
  /** True when the root key is in clear in the data directory although API keys for production exist. */
  isRootKeyExposed(): Promise<boolean>;
  /** The certificate of the CA that cardvault created, for clients to trust; PEM. */
  caCertificate(): string | undefined;
  /** The path patterns of the API. */
  readonly apiRoutes: readonly string[];
  /** Expiry of the listeners' certificate; undefined when it cannot be read. */
  certificateEnd(): number | undefined;
}

/** The cookies that a response sets, as header lines. */
export interface Cookies {
  session?: string;
  browser?: string;
}

/** The access of a browser's call, with or without a session. */
interface PublicGrant extends Grant {
  readonly client: ClientContext;
  readonly relyingParty: RelyingParty;
  /** Session at any stage; undefined without one. */
  readonly session: Session | undefined;
  /** True for a periodic call of a page, without the user. */
  readonly isPassive: boolean;
  readonly cookies: Cookies;
  /** Sets the cookie to the session of the new stage. */
  setSessionCookie(issued: IssuedSession): void;
  /** Removes the cookie. */
  clearSessionCookie(): void;
}

/** The access of a call. Members are undefined, or empty, where the access of the route does not require them. */
export interface ConsoleGrant extends PublicGrant {
  readonly person: Profile | undefined;
  /** Account of the path; '' for operators, and for calls about the user alone. */
  readonly account: string;
  /** The user's role in that account; undefined for calls about the user alone. */
  readonly role: Role | undefined;
  /** Tenant of the path. Its environment is undefined when the path has none. */
  readonly tenant: Tenant;
}

/**
 * A call with or without a session. Its transaction is committed with its result before the response is sent; the
 * origin of that transaction is the origin of the call, and names no user without a session.
 */
export interface PublicCall<Body, Query> extends RouteCall<Body, Query>, PublicGrant {
  readonly services: ConsoleServices;
}

/** A call of a signed-in user who has the access that its definition requires. */
export interface ConsoleCall<Body, Query> extends RouteCall<Body, Query>, ConsoleGrant {
  readonly services: ConsoleServices;
  readonly session: Session;
  readonly person: Profile;
  /** Consent of the approver to this change; absent when the change needs none. */
  readonly consent?: Consent;
}

export type AnyCall = ConsoleCall<unknown, unknown>;

/** A definition with its handler. */
export interface Route extends HttpRoute, Definition {
  readonly bodyLimit: number;
  /** For `public`, `signing-in` and `enrolling` it gets a `PublicCall`, otherwise a `ConsoleCall`. */
  readonly run: Handler<AnyCall> | StagedHandler<AnyCall, unknown, ConsoleServices>;
  /**
   * For `dualControl`: describes the change to the approver. Throws when the change could not be made. Absent: the
   * description is its name alone.
   */
  summary?(call: AnyCall): Promise<readonly SummaryLine[]>;
}

/** Defines a route with the access `public`, `signing-in` or `enrolling`. */
export const publicRoute = <Body, Query, Data>(
  definition: Definition<Body, Query, Data>,
  run: (call: PublicCall<Body, Query>) => Promise<Data>,
): Route => toRoute(definition, run);

/** Checks the types of one route together, then erases them, so that all routes fit in one array. */
export const route = <Body, Query, Data, Intent, Sent>(
  definition: Definition<Body, Query, Data>,
  run:
    | ((call: ConsoleCall<Body, Query>) => Promise<Data>)
    | StagedHandler<ConsoleCall<Body, Query>, Data, ConsoleServices, Intent, Sent>,
  summary?: (call: ConsoleCall<Body, Query>) => Promise<readonly SummaryLine[]>,
): Route => ({
  ...toRoute(definition, run),
  ...(summary !== undefined && { summary: summary as Route['summary'] & {} }),
});

export const streamRoute = <Body, Query>(
  definition: Definition<Body, Query, string>,
  run: (call: ConsoleCall<Body, Query>) => Promise<StreamedFile>,
): Route => ({ ...toRoute(definition, run), isStream: true });

const toRoute = (definition: Pick<Definition, 'largeBody'>, run: HttpRoute['run']): Route =>
  ({
    ...definition,
    family: 'console',
    bodyLimit: definition.largeBody === true ? LIMITS.bodyBytes : LIMITS.consoleBodyBytes,
    run,
  }) as unknown as Route;

/** Returns the result of a change that needed no approval, or had it. */
export const executed = <T>(result: T): { approval: null; result: T } => ({ approval: null, result });
