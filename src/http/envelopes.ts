import { createRequire } from 'node:module';
import type { Failure } from '../kernel/failure.ts';
import { type Field, type JsonSchema, serializable } from './fields.ts';

/** Endpoints with the same shape of responses (decisions: Error shapes). */
export type Family = 'vault' | 'proxy' | 'payments' | 'console';

/** The shape of a family's responses. */
interface Envelope {
  success(data: unknown): unknown;
  successSchema(data: JsonSchema): JsonSchema;
  failure(failure: Failure, status: number): object;
  readonly failureSchema: JsonSchema;
}

const TEXT = { type: 'string' } as const;

/** An object with all its members. */
const objectOf = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

const FAILED = { type: 'string', const: 'fail' } as const;
const NO_DATA = { type: 'string', const: '' } as const;

/** The only place that defines the shape of responses. */
export const ENVELOPES: Readonly<Record<Family, Envelope>> = {
  vault: {
    success: (data) => ({ status_code: 200, status: 'success', desc: 'Success', data }),
    successSchema: (data) =>
      objectOf({
        status_code: { type: 'integer', const: 200 },
        status: { type: 'string', const: 'success' },
        desc: TEXT,
        data,
      }),
    failure: ({ message }, status) => ({ status_code: status, status: 'fail', desc: message, data: '' }),
    failureSchema: objectOf({ status_code: { type: 'integer' }, status: FAILED, desc: TEXT, data: NO_DATA }),
  },
  proxy: {
    success: (data) => ({ status: 200, data }),
    successSchema: (data) => objectOf({ status: { type: 'integer', const: 200 }, data }),
    failure: ({ message }, status) => ({ status_code: status, status: 'fail', description: message, data: '' }),
    failureSchema: objectOf({ status_code: { type: 'integer' }, status: FAILED, description: TEXT, data: NO_DATA }),
  },
  payments: {
    // Their status has more values than one, so these endpoints write all members themselves.
    success: (answer) => answer,
    successSchema: (answer) => answer,
    failure: ({ code, message, field }, status) => ({
      status: status >= 500 ? 'Error' : 'Fail',
      message,
      data: { code, description: message, path: field ?? '' },
    }),
    failureSchema: objectOf({
      status: TEXT,
      message: TEXT,
      data: objectOf({ code: TEXT, description: TEXT, path: TEXT }),
    }),
  },
  /** Calls of the console in the browser: data without an envelope, and failures that name the field of a form. */
  console: {
    success: (data) => data,
    successSchema: (data) => data,
    failure: ({ code, reason, values, message, field }) => ({
      code,
      ...(reason !== undefined && { reason, values }),
      // For readers of logs and of calls; the console shows its own sentence for the reason.
      message: field === undefined || !message.startsWith(`${field}: `) ? message : message.slice(`${field}: `.length),
      ...(field !== undefined && { field }),
    }),
    failureSchema: {
      type: 'object',
      properties: {
        code: TEXT,
        reason: TEXT,
        values: { type: 'object', additionalProperties: true },
        message: TEXT,
        field: TEXT,
      },
      required: ['code', 'message'],
    },
  },
};

const DATA = '\u0000data';

/** Returns the constant text before and after the data in a successful response of a family. */
function textAroundData(family: Family): readonly [before: string, after: string] {
  const [before = '', after = ''] = JSON.stringify(ENVELOPES[family].success(DATA)).split(JSON.stringify(DATA));
  return [before, after];
}

type Writer = (data: unknown) => string;

const require = createRequire(import.meta.url);

/** Compiled once for each schema: the listeners of both environments have the same routes. */
const WRITERS = new WeakMap<JsonSchema, Writer>();

function compileWriter(schema: JsonSchema): Writer {
  let write = WRITERS.get(schema);
  if (write === undefined) {
    const compile: typeof import('fast-json-stringify') = require('fast-json-stringify');
    write = compile(serializable(schema)) as Writer;
    WRITERS.set(schema, write);
  }
  return write;
}

/**
 * Returns a writer of successful responses: only declared members of the data, in the constant text of the family. It is
 * compiled by the first response, because few routes are used soon after a start and all of them take 90 ms of CPU.
 */
export function createWriter({
  family,
  data,
}: {
  readonly family: Family;
  readonly data: Pick<Field<unknown>, 'schema'>;
}): Writer {
  const [before, after] = textAroundData(family);
  let write: Writer | undefined;
  return (value) => {
    write ??= compileWriter(data.schema);
    return before + write(value) + after;
  };
}
