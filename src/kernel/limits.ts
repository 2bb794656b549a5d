/** Every maximum that users and operators can meet, with its unit. */
export const LIMITS = {
  bodyBytes: 1024 * 1024,
  /** Of a call of the console, unless it may be long: anybody may begin to send one. */
  consoleBodyBytes: 16 * 1024,
  /** Bodies above this size are read one at a time, with other work between them. */
  smallBodyBytes: 64 * 1024,
  jsonDepth: 32,
  /** Values of a document; each costs many times its text in memory. */
  jsonValues: 50_000,
  xmlDepth: 100,
  /** Elements and attributes of a document. */
  xmlNodes: 50_000,
  /** Of a namespace's URI. Reading a prefixed attribute takes time linear in it, and canonical forms repeat it. */
  xmlNamespaceCharacters: 255,
  /** Of the canonical form, which can be many times as long as the document. */
  xmlCanonicalCharacters: 4 * 1024 * 1024,
  placeholders: 100,
  /** Of the keys of processors and merchants; a longer one would keep a core busy for a second a signature. */
  rsaBits: { min: 2048, max: 8192 },
  keyFileBytes: 64 * 1024,
  /** Of PBKDF2 or PKCS#12, to open a private key with its passphrase: nothing else goes on for half a second at worst. */
  keyIterations: 600_000,
  /** N·r·p of scrypt for the same: four times what openssl takes, and so 64 MiB of memory at most. */
  keyScryptWork: 2 ** 19,
  proxySettingCharacters: 255,
  processorSettingCharacters: 4096,
  /** Of a payment, before the decimal point. */
  amountIntegerDigits: 12,
  referenceCodeCharacters: 255,
  descriptorCharacters: 140,
  /** Of names, addresses and other texts about the people of a payment. */
  partyCharacters: 255,
  installments: 999,
  lineItems: 100,
  /** Refunds and tries to refund, capture or void, of one payment. */
  operationsPerPayment: 1000,
  /** Of the answer of a processor. */
  processorResponseBytes: 1024 * 1024,
  notificationBytes: 64 * 1024,
  cardsPerTokenization: 1000,
  tokensPerDelete: 1000,
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
  /** Of passwords and codes that people type. */
  passwordCharacters: 128,
  passwordCharactersAtLeast: 12,
  signInCodeCharacters: 64,
  emailCharacters: 254,
  factorLabelCharacters: 64,
  personNameCharacters: 100,
  /** Characters of the name that a setting gives the operator of a command. */
  operatorNameCharacters: 100,
  /** Of the browser that a session shows; the rest is cut off. */
  userAgentCharacters: 255,
  passkeysPerPerson: 20,
  /** Of what a browser says of a passkey: its id (1023 bytes), each other member, and how it can be reached. */
  credentialIdCharacters: 1364,
  credentialMemberCharacters: 4096,
  credentialTransports: 10,
  /** Signed in, and with the password given alone; the oldest ends. */
  sessionsPerPerson: 50,
  recoveryCodes: 10,
  /** Open at once. */
  invitationsPerAccount: 100,
  /** Members, and whom an open invitation may make one. */
  peoplePerAccount: 200,
  /** Wrong passwords and codes in a row before a browser, a network or the step-up of a session is locked (PCI DSS 8.3.4). */
  signInFailures: 10,
  /** Wrong second factors after the right password, before that password is not accepted any more (NIST SP 800-63B 5.2.2). */
  secondFactorFailures: 100,
  /** Browsers and networks of which it is known that a user signed in from there; the oldest are forgotten. */
  knownBrowsersPerUser: 20,
  knownNetworksPerUser: 20,
  /** Other networks whose failures are counted for a user. */
  failedNetworksPerUser: 100,
  /** Of passwords, in one process: for all networks, and for all known browsers and users; each takes 46 MiB. */
  concurrentPasswordHashes: 1,
  /** Passwords waiting for their hash before more are answered 503: of one network, browser or user, and of all networks
   * or of all known browsers and users. */
  queuedPasswordHashesPerSource: 50,
  queuedPasswordHashes: 500,
  /** Changes in one environment that wait for a second person at once. */
  pendingApprovals: 50,
  /** Changes that people ask a second person for in 24 hours, in one environment. */
  approvalsPerDay: 500,
  /** Requests for payments that an account makes in 24 hours. */
  activationRequestsPerDay: 20,
  /** Of a person in the console, all of which may come at once. */
  callsPerMinute: 600,
  /** Of a person, in one process, until their answers are sent; a browser opens 6 connections. */
  concurrentCallsPerUser: 16,
  /** Of what one of them would do. */
  approvalCallCharacters: 256 * 1024,
  /** Of all that wait in one environment, beside one more. */
  pendingApprovalBytes: 4 * 1024 * 1024,
  /** Of the lines that tell a second person what would change, and of each. */
  summaryLines: 100,
  summaryCharacters: 500,
  /** Of the first of those lines, which lists show; all of them are shown of one change at a time. */
  summaryCharactersListed: 2000,
  /** Requests that are listed: those that wait, and the newest of the others. */
  listedRequests: 200,
  /** Beside those that are open. */
  endedApprovalsListed: 50,
  /** Of a time that was typed. */
  timeCharacters: 40,
  /** How long something stays good beside what replaces it: 30 days. */
  overlapMinutes: 43_200,
  noteCharacters: 1000,
  processorNameCharacters: 64,
  auditFilterCharacters: 255,
  /** Looks at the audit log that need not be recorded again yet, in one process. */
  cachedAuditReads: 10_000,
  /** What comes again and again and is counted instead of recorded, in one process. */
  throttledAuditEvents: 10_000,
  /** Searches, exports and verifications of the audit log that a person has under way in one process. */
  auditReadsPerUser: 4,
  workbenchPayloadCharacters: 256 * 1024,
  /** At once, on each address of a listener. */
  connections: 20_000,
  pathParameterCharacters: 8 * 1024,
  headerBytes: 16 * 1024,
  accountNameCharacters: 255,
  /** API keys that work at once, and how many are made in 24 hours; of one account in one environment. */
  keysPerEnvironment: 100,
  keysCreatedPerDay: 200,
  /** Of those that were revoked or have expired, the newest. */
  endedKeysListed: 100,
  apiKeyNameCharacters: 255,
  apiKeyDescriptionCharacters: 1000,
  apiKeyCharacters: 255,
  allowListEntries: 1000,
  allowListNoteCharacters: 255,
  /** Rows whose MAC is checked in one round of the periodic check, every 5 seconds. */
  rowsCheckedPerRound: 1000,
  /** Altered rows that are listed and recorded; an attacker could write any number of them. */
  alteredRows: 10_000,
  /** Uses of one data key with random 96-bit nonces (NIST SP 800-38D 8.3 allows 2^32; half of it is kept in hand). */
  sealsPerDataKey: 2 ** 31,
  /** Uses a process reserves at once; what a crash wastes of a key's total. */
  sealsPerReservation: 2 ** 20,
  /** Keys of periods of expiry, in one process. */
  sadKeysInMemory: 10_000,
  /** Random draws of a token before the free values are searched for. */
  randomTokenAttempts: 12,
  /** Taken values read at once in that search. */
  tokenSearchPage: 2000,
  /** Rows in one durable transaction, unless one unit alone has more. */
  rowsPerCommit: 2000,
  /** Writes waiting for the disk before new ones are answered 503. */
  queuedUnits: 20_000,
  /** Addresses whose failures are counted at once. */
  trackedAddresses: 100_000,
  /** Tries of a unit that others keep changing under it; each failed try is somebody else's success. */
  commitAttempts: 1000,
  /** Rows that one sweep removes in one transaction. */
  rowsPerSweep: 500,
  /** Records on one page of a list. */
  recordsPerPage: 50,
  /** Rows read at once for a page, and in all when few of them are what is wanted. */
  rowsPerScan: 200,
  rowsPerPage: 5000,
  cursorCharacters: 4096,
  searchCharacters: 255,
  /** Payments with an unknown outcome that are listed at once. */
  inDoubtPaymentsListed: 500,
  /** Of what was counted: asked for at once, kept at all, and counters in memory between two writes. */
  statisticsDaysPerQuery: 92,
  statisticsDaysKept: 400,
  countersInMemory: 100_000,
  /** Of requests: what took longer is counted as longer, and nobody knows how long. */
  maxMeasuredMs: 60_000,
  /** Difference between the clock and the time that has passed, beyond which time is not trusted. */
  clockToleranceMs: 5 * 60_000,
  /** Stop of the service after which time is trusted only when nothing that destroys records is due. */
  uncheckedStopMs: 6 * 60 * 60_000,
  /** Ends of chains that one record of the audit log names, when the vault was restored or copied. */
  chainEndsPerRecord: 200,
  /** Time between two notes of the heads of the audit log, which is what an attacker can cut off unseen. */
  headNotesEveryMs: 50_000,
  /** Records that a node reads when it verifies the audit log periodically. */
  verifiedRecordsPerSecond: 5000,
} as const;
