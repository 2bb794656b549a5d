/** Terms of the request log that the vault, the console and its pages share. They need nothing of Node. */

/** The route of requests to paths that are not served. */
export const NO_ROUTE = '(none)';

/** Groups of statuses by which requests are searched. */
export const STATUS_CLASSES = ['errors', '2xx', '4xx', '5xx'] as const;

export type StatusClass = (typeof STATUS_CLASSES)[number];

/** The lowest status of a response that reports an error. */
const FIRST_ERROR = 400;
const FIRST_SERVICE_ERROR = 500;

export const isError = (status: number): boolean => status >= FIRST_ERROR;

const IS_IN_CLASS: Readonly<Record<StatusClass, (status: number) => boolean>> = {
  errors: isError,
  '2xx': (status) => !isError(status),
  '4xx': (status) => isError(status) && status < FIRST_SERVICE_ERROR,
  '5xx': (status) => status >= FIRST_SERVICE_ERROR,
};

export const isInStatusClass = (statusClass: StatusClass, status: number): boolean => IS_IN_CLASS[statusClass](status);
