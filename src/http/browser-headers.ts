import type { FastifyRequest } from 'fastify';

/** What browsers are told with every answer of the console's listener, good or bad; pages say more. */

/** An answer that is no page is not to be framed, embedded or run. */
export const NON_PAGE_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
};

const NON_PAGE_HEADERS_WITH_HSTS = { ...NON_PAGE_HEADERS, 'strict-transport-security': 'max-age=31536000' };

/** On a developer's own machine the last would keep browsers from every other http://localhost. */
export const browserHeaders = ({ hostname }: FastifyRequest): Readonly<Record<string, string>> =>
  hostname === 'localhost' ? NON_PAGE_HEADERS : NON_PAGE_HEADERS_WITH_HSTS;
