/**
 * HTTP Strict Transport Security (RFC 6797). A browser that received it uses TLS alone for the host, on every port: so
 * listeners without pages send it only when the operator says that nothing else of the host needs HTTP.
 */
export const HSTS_SCOPES = ['pages', 'host', 'subdomains'] as const;
export type HstsScope = (typeof HSTS_SCOPES)[number];

/** A year in seconds. */
const MAX_AGE = 'max-age=31536000';

/** Returns the value of the header for a listener with pages. */
export const strictTransport = (scope: HstsScope): string =>
  scope === 'subdomains' ? `${MAX_AGE}; includeSubDomains` : MAX_AGE;

/** Returns the headers of a listener without pages. */
export const apiTransportHeaders = (scope: HstsScope): Readonly<Record<string, string>> | undefined =>
  scope === 'pages' ? undefined : { 'strict-transport-security': strictTransport(scope) };
