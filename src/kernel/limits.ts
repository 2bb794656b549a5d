/** Every maximum that users and operators can reach, with its unit. */
export const LIMITS = {
  bodyBytes: 1024 * 1024,
  /** Body of a console call without `largeBody`. Unauthenticated clients may start to send one. */
  consoleBodyBytes: 16 * 1024,
  /** Bodies above this size are parsed one at a time, with other work between them. */
  smallBodyBytes: 4096,
  jsonDepth: 32,
  /** Values of a document; each takes many times its text in memory. */
  jsonValues: 50_000,
  xmlDepth: 100,
  /** Elements and attributes of a document. */
  xmlNodes: 50_000,
  /** URI of a namespace. Reading a prefixed attribute takes time linear in it, and canonical forms repeat it. */
  xmlNamespaceCharacters: 255,
  /** Canonical form, which can be many times as long as the document. */
  xmlCanonicalCharacters: 4 * 1024 * 1024,
  placeholders: 100,
  /** Keys of processors and merchants. A longer key would keep a core busy for a second for each signature. */
  rsaBits: { min: 2048, max: 8192 },
  keyFileBytes: 64 * 1024,
  /** Recipients of an encrypted file, and identities of a file with private keys. */
  ageRecipients: 20,
  /** Pieces in which files of a database are read and written. */
  backupChunkBytes: 256 * 1024,
  /** Manifest of a backup. It grows with the tables, and not with the records. */
  backupManifestBytes: 1024 * 1024,
  /** Header of an encrypted file. A post-quantum recipient takes 1.6 KiB of it. */
  ageHeaderBytes: 64 * 1024,
  /** Iterations of PBKDF2 or PKCS#12 that a passphrase may need. They block the process for half a second at worst. */
  keyIterations: 600_000,
  /** N·r·p of scrypt for the same purpose: four times the work of an `openssl` default, at most 64 MiB of memory. */
  keyScryptWork: 2 ** 19,
  /** Passphrase of the root key, or PIN of the token that seals it. */
  custodySecretBytes: 1024,
  custodyPassphraseCharactersAtLeast: 16,
  /** N·r·p of scrypt for the passphrase of the root key: twice the work of those that are written, 256 MiB of memory. */
  custodyScryptWork: 2 ** 21,
  /** Custodians of a root key, and the smallest threshold (the format of the shares allows one byte). */
  custodyShares: { min: 2, max: 255 },
  custodianNameCharacters: 64,
  /** Time from the first share to the last one, after which the shares in memory are cleared. */
  unsealMs: 15 * 60_000,
  /** Wrong shares of one source in that time, and sources whose wrong shares are counted. */
  unsealFailures: 10,
  unsealSources: 1000,
  /** Body of a share that is given over TLS. */
  unsealBodyBytes: 4096,
  /** Concurrent connections of the local socket, the length of a message there, and the time that one may take. */
  socketConnections: 16,
  socketLineBytes: 8192,
  socketMs: 10_000,
  proxySettingCharacters: 255,
  processorSettingCharacters: 4096,
  /** Digits of a payment's amount before the decimal point. */
  amountIntegerDigits: 12,
  referenceCodeCharacters: 255,
  descriptorCharacters: 140,
  /** Names, addresses and other texts about the cardholder and the parties of a payment. */
  partyCharacters: 255,
  installments: 999,
  lineItems: 100,
  /** Operations of one payment: refunds, and failed attempts to refund, capture or void. */
  operationsPerPayment: 1000,
  /** Body of a processor's response. */
  processorResponseBytes: 1024 * 1024,
  notificationBytes: 64 * 1024,
  cardsPerTokenization: 1000,
  tokensPerDelete: 1000,
  /** Cards of one request that are worked on until other requests get their turn: about a millisecond. */
  cardsPerTurn: 50,
  /** RSA encryptions of one request with a key of 2048 bits until other requests get their turn: one or two milliseconds. */
  encryptionsPerTurn: 50,
  tags: 50,
  tagCharacters: 255,
  nameCharacters: 255,
  additionalInfoBytes: 16 * 1024,
  captureTtlMinutes: 10_080,
  amount: Number.MAX_SAFE_INTEGER,
  panDigits: { min: 12, max: 19 },
  track2Characters: 37,
  idempotencyKeyCharacters: 255,
  requestIdCharacters: 128,
  /** Passwords and codes that users type. */
  passwordCharacters: 128,
  passwordCharactersAtLeast: 12,
  /** Passwords that a new one must differ from: the present one and those before it (PCI DSS 8.3.7). */
  rememberedPasswords: 4,
  signInCodeCharacters: 64,
  emailCharacters: 254,
  factorLabelCharacters: 64,
  personNameCharacters: 100,
  /** The longest name of the IANA database has 32. */
  timeZoneCharacters: 64,
  /** Name of the operator who runs a command, given by a setting. */
  operatorNameCharacters: 100,
  /** Browser name that a session shows; the rest is cut off. */
  userAgentCharacters: 255,
  passkeysPerPerson: 20,
  /**
   * Members that a browser reports of a passkey: its id (1023 bytes in base64url), each other member, and the
   * transports.
   */
  credentialIdCharacters: 1364,
  credentialMemberCharacters: 4096,
  credentialTransports: 10,
  /** Sessions of a user, including those with only the password given; a new one ends the oldest. */
  sessionsPerPerson: 50,
  recoveryCodes: 10,
  /** Pending invitations. */
  invitationsPerAccount: 100,
  /** Members, and users whom a pending invitation may make members. */
  peoplePerAccount: 200,
  /**
   * Consecutive wrong passwords and codes before a browser, a network or the step-up of a session is locked (PCI DSS
   * 8.3.4).
   */
  signInFailures: 10,
  /**
   * Wrong second factors after the correct password before that password is no longer accepted (NIST SP 800-63B 5.2.2).
   */
  secondFactorFailures: 100,
  /** Browsers and networks from which a user signed in before; the oldest are deleted. */
  knownBrowsersPerUser: 20,
  knownNetworksPerUser: 20,
  /** Other networks whose failures are counted for a user. */
  failedNetworksPerUser: 100,
  /**
   * Password hashes that one process computes concurrently: for all networks, and for all known browsers and users.
   * Each takes 46 MiB.
   */
  concurrentPasswordHashes: 1,
  /**
   * Passwords that wait for their hash before more are rejected with 503: for one network, browser or user, and for all
   * networks or for all known browsers and users.
   */
  queuedPasswordHashesPerSource: 50,
  queuedPasswordHashes: 500,
  /** Changes in one environment that await approval. */
  pendingApprovals: 100,
  /** The number of these that one user requested, so that no user can keep the others from requesting. */
  pendingApprovalsPerRequester: 50,
  /** Changes in one environment that users request within 24 hours. */
  approvalsPerDay: 500,
  /** Activation requests of an account within 24 hours. */
  activationRequestsPerDay: 20,
  /** Console calls of a user in a minute, all of which may arrive in the same second. */
  callsPerMinute: 600,
  /** Console calls of a user in one process without a complete response; a browser opens 6 connections. */
  concurrentCallsPerUser: 16,
  /** Stored call of one approval request. */
  approvalCallCharacters: 256 * 1024,
  /** Stored calls of all pending approval requests in one environment, without one more. */
  pendingApprovalBytes: 8 * 1024 * 1024,
  /** The same of one user. */
  pendingApprovalBytesPerRequester: 4 * 1024 * 1024,
  /** Lines that summarize a change for the approver, and the characters of each. A change with more lines is rejected. */
  summaryLines: 1000,
  summaryCharacters: 500,
  /** Characters of the summary shown in lists; the detail page shows all of it. */
  summaryCharactersListed: 2000,
  /** Requests in a list: the pending ones, and the newest of the others. */
  listedRequests: 200,
  /** Decided or executed approval requests in a list, in addition to the pending ones. */
  endedApprovalsListed: 50,
  /** A typed time. */
  timeCharacters: 40,
  /** Longest overlap in which a value is valid beside its replacement: 30 days. */
  overlapMinutes: 43_200,
  noteCharacters: 1000,
  processorNameCharacters: 64,
  auditFilterCharacters: 255,
  /** Cached readings of the audit log in one process that need no new record yet. */
  cachedAuditReads: 10_000,
  /** Events in one process that are counted instead of recorded while they repeat. */
  throttledAuditEvents: 10_000,
  /** Concurrent searches, exports and verifications of the audit log for each user in one process. */
  auditReadsPerUser: 4,
  /** Accounts whose users verify the audit log concurrently in one process. */
  verifiedAccounts: 8,
  workbenchPayloadCharacters: 256 * 1024,
  workbenchParameterCharacters: 255,
  /** Concurrent connections to each address of a listener. */
  connections: 20_000,
  /** Requests of a connection that wait for the responses of earlier ones on it; one more closes it. Browsers and usual clients send none. */
  pipelinedRequests: 32,
  pathParameterCharacters: 8 * 1024,
  headerBytes: 16 * 1024,
  accountNameCharacters: 255,
  /** Valid API keys, and API keys created within 24 hours, of one account in one environment. */
  keysPerEnvironment: 100,
  keysCreatedPerDay: 200,
  /** Newest revoked and expired API keys in a list. */
  endedKeysListed: 100,
  apiKeyNameCharacters: 255,
  apiKeyDescriptionCharacters: 1000,
  apiKeyCharacters: 255,
  allowListEntries: 1000,
  allowListNoteCharacters: 255,
  /** Rows whose MAC one round of the periodic check computes, every 5 seconds. */
  rowsCheckedPerRound: 1000,
  /** Altered rows that are listed and recorded; an attacker could write any number of them. */
  alteredRows: 10_000,
  /** Uses of one data key with random 96-bit nonces (NIST SP 800-38D 8.3 allows 2^32; half of it is a reserve). */
  sealsPerDataKey: 2 ** 31,
  /** How long a process seals with a key before it looks for a newer version. */
  keyRefreshMs: 2000,
  /** How long a replaced key may still seal records: requests that were in progress when it was replaced. */
  keyHandoverMs: 5000,
  /** How long a process uses keys of digests before it waits for newer ones; far less than `digestHandoverMs`. */
  keyStaleMs: 10_000,
  /** Shortest length of a phase in which a key of fingerprints or other digests is replaced: no request takes that long. */
  digestHandoverMs: 60_000,
  /** Age of a replaced key before which it is never destroyed; `--destroy-now` waits for the shorter time. */
  keyRetirementMs: 60 * 60_000,
  urgentKeyRetirementMs: 60_000,
  /** Rows that one step of a rotation reads, at most; rows of one page that counts sealed rows. */
  rowsPerRotationStep: 200,
  rowsPerSealedCount: 10_000,
  /** Rows that a rotation reads for each row that it may seal again, where nothing is left to seal. */
  rowsReadPerReseal: 20,
  /** Largest setting of the rows that a rotation seals again each second. */
  rotationRate: 1_000_000,
  /** Keys that one commit wraps again, or that are rotated concurrently. */
  keysPerRewrap: 200,
  /** Longest period after which a key is to be rotated. */
  keyPeriodDays: 3650,
  /** Backups that the evidence of a destruction names. */
  backupsInEvidence: 100,
  /** Uses that a process reserves in one step; a crash wastes at most this number of a key's total. */
  sealsPerReservation: 2 ** 20,
  /** Keys of sensitive authentication data in one process, one for each hour of expiry and environment. */
  sadKeysInMemory: 10_000,
  /** Random tokens that are tried before the free values are searched. */
  randomTokenAttempts: 12,
  /** Assigned values that one step of that search reads. */
  tokenSearchPage: 2000,
  /** Rows in one durable transaction, unless one unit alone has more. */
  rowsPerCommit: 2000,
  /** Writes that wait for the disk before new ones are rejected with 503. */
  queuedUnits: 20_000,
  /** Threads of a process that serve the API. More would wait for the one that writes. */
  requestWorkers: 8,
  /** Addresses whose failures are counted concurrently. */
  trackedAddresses: 100_000,
  /** Attempts of a unit that conflicts with others; each failed attempt is a success of another unit. */
  commitAttempts: 1000,
  /** Rows that one step of a sweep deletes in one transaction, for which all requests that write wait. */
  rowsPerSweep: 50,
  /** Records on one page of a list. */
  recordsPerPage: 25,
  /** Rows that one step of a scan reads, and rows that one page may read in total when few of them match. */
  rowsPerScan: 200,
  rowsPerPage: 5000,
  /** Payments that one confirmation captures, refunds or voids. */
  paymentsPerBatch: 50,
  /** Saved views of a member, over all lists, the filters of one, and the characters of their names. */
  savedViewsPerMember: 50,
  filtersPerView: 20,
  savedViewNameCharacters: 64,
  viewFilterNameCharacters: 32,
  /** Rows of one export, and the time after which it ends. */
  exportedRows: 100_000,
  exportMs: 10 * 60_000,
  /** Concurrent exports of lists for each user in one process. */
  exportsPerUser: 1,
  /** Rows that one step of an account's export reads, and records that it writes in a second unless another rate is given. */
  rowsPerExportPage: 200,
  accountExportRecordsPerSecond: 10_000,
  /** Bytes of one line of an imported file, and of one record of several lines. Lines of an export that are no tokens may be longer. */
  importLineBytes: 256 * 1024,
  /** Cards that an import commits as one unit, and units that it commits concurrently. */
  cardsPerImportBatch: 500,
  importBatchesInFlight: 4,
  /** Largest rates of an export in records, and of an import in cards a second. */
  transferRate: 1_000_000,
  /** Units of a finished import whose progress is deleted in one step. */
  importBatchesPerDeletion: 1000,
  importNameCharacters: 64,
  /** Records up to which a list is counted exactly. */
  countedRecords: 10_000,
  cursorCharacters: 4096,
  searchCharacters: 255,
  /** Entries in the history of an operation beside its request; the oldest are left out. */
  paymentHistoryEntries: 50,
  /** Shortest time between an inquiry about a payment and the next one that a user requests, in seconds. */
  checkIntervalSeconds: 10,
  /** Payments with an unknown outcome in the list. */
  inDoubtPaymentsListed: 500,
  /** Alerts of the service in total, of one cause, and in the list of a user. */
  alerts: 5000,
  alertsPerSource: 1000,
  alertsListed: 100,
  /** Newest requests that an evaluation of alerts reads. */
  requestsPerAlert: 20_000,
  alertIdCharacters: 32,
  /** Mails about alerts that wait to be sent; further alerts are shown in the console only. */
  queuedMails: 10_000,
  /** Days of one overview. */
  overviewDays: 366,
  /** Counters: days of one query, days stored, and counters in memory between two writes. */
  statisticsDaysPerQuery: 366,
  statisticsDaysKept: 800,
  countersInMemory: 100_000,
  /** Rows of the request log: recorded successes and errors of one kind for each key, second and request thread. */
  requestLogSuccessesPerSecond: 5,
  requestLogErrorsPerSecond: 5,
  /** Rows in memory between two writes, for each request thread; successes take at most half of them. */
  requestLogRowsInMemory: 1000,
  requestLogDaysKept: 30,
  /** Largest setting of its rows. */
  requestLogRows: 100_000_000,
  /** Rows that one round of its pruning counts and deletes, every 5 seconds. */
  requestLogRowsCountedPerRound: 200_000,
  requestLogRowsDeletedPerRound: 20_000,
  /** Duration of a request in its histogram; longer durations are counted as longer only. */
  maxMeasuredMs: 60_000,
  /** Difference between the clock and the time that has passed, beyond which time is not trusted. */
  clockToleranceMs: 5 * 60_000,
  /** Downtime after which time is trusted only when nothing is due that destroys records. */
  uncheckedStopMs: 6 * 60 * 60_000,
  /** Chain heads that one record of the audit log names after the vault was restored or copied. */
  chainEndsPerRecord: 200,
  /** Chains that one signed statement about the audit log names; one that names more has several parts. */
  chainsPerStatement: 1000,
  /** A line of an exported audit log, in bytes. The longest is a statement. */
  auditLineBytes: 4 * 1024 * 1024,
  /** Days of the audit log that always remain in the database (PCI DSS 10.5.1). */
  auditDaysAtHand: 90,
  /** Largest setting of the days that the audit log remains in the database. */
  auditRetentionDays: 36_500,
  /** Records of one chain that one transaction removes. */
  recordsPerPruning: 1000,
  /** Records that are sent to a receiver of the audit log before the positions are stored, and chains read for that. */
  recordsPerShipment: 1000,
  chainsPerShipment: 200,
  /** Response of a receiver of the audit log, its file of headers, and their number. */
  receiverResponseBytes: 64 * 1024,
  receiverHeadersBytes: 16 * 1024,
  receiverHeaders: 20,
  /** Days without use after which a retention rule may end tokens. */
  unusedDays: { min: 30, max: 3650 },
  /** Tokens of a tenant in one process whose use was written today. */
  rememberedTokenUses: 200_000,
  /** Backups that a receipt of a deletion names, the newest. */
  backupsPerReceipt: 1000,
  /** Days for which a receipt of a deletion may state that backups are stored. */
  backupDays: 3650,
  /** Interval of the notes of the audit log's heads: an attacker can cut off at most this much unnoticed. */
  headNotesEveryMs: 50_000,
  /** Pages that may frame the card form of a session. */
  sessionOrigins: 10,
  /** Entries of that list, of which equal ones count once. */
  sessionOriginEntries: 100,
  sessionHostCharacters: 253,
  sessionReturnUrlCharacters: 2000,
  sessionDescriptionCharacters: 140,
  sessionMinutes: 60,
  /** Refused submissions with which a session fails. */
  sessionAttempts: 10,
  /** Sessions of the card form whose settings are in memory. */
  recentSessions: 1000,
  /** Settings of a session with more sealed bytes are not kept in memory. */
  recentSessionBytes: 2048,
  /** Documents of the card form, one for each set of origins, that are compressed and in memory. */
  cachedCardForms: 200,
  /** Body of a submission of the card form. */
  submissionBytes: 4096,
  /** Endpoints of webhooks of an account in one environment. */
  webhookEndpoints: 10,
  webhookUrlCharacters: 2000,
  webhookDescriptionCharacters: 255,
  /** Delays of a schedule. */
  webhookDelays: 20,
  /** Largest time in which the old secret signs beside a new one. */
  webhookOverlapMinutes: 1440,
  /** Body of an event. */
  webhookBodyBytes: 20_000,
  /** Deliveries on a page of the interface. */
  webhookDeliveriesPerPage: 50,
  /** Trials that an endpoint gets in a minute. */
  webhookTestsPerMinute: 10,
  /** Trials that the endpoints of an account in one environment get in a minute from a thread of a node, deleted ones included. */
  webhookTestsPerTenant: 100,
  /** Requests to endpoints that a node has in progress: in total, to one endpoint, and to one whose last attempt failed. */
  webhookRequests: 200,
  webhookRequestsPerEndpoint: 10,
  webhookRequestsAfterFailure: 1,
  /** Time in which an endpoint has to send the headers of its response, lookup of its name included. */
  webhookAttemptMs: 15_000,
  /** Addresses of the name of an endpoint; one with more is not connected to. */
  webhookAddresses: 64,
  /** Bytes of the body of a response that are read, and thrown away. */
  webhookResponseBytes: 64 * 1024,
  /** Events and deliveries are removed this long after the event. */
  webhookDaysKept: 30,
  /** Records that a node reads for each second of the periodic verification of the audit log. */
  verifiedRecordsPerSecond: 5000,
} as const;
