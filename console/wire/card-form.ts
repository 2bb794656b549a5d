import type { VariableName } from '../../src/capture-sessions/appearance.ts';
import { LOCALES, SESSION_STATUSES } from '../../src/capture-sessions/session.ts';
import { anyString, object, oneOf, optional, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { define, done, orNull } from './definition.ts';

/** The card form: its sessions, their cancellation, and a trial in the sandbox. */

export const listSessions = define({
  method: 'GET',
  path: '/api/accounts/:account/:environment/card-form/sessions',
  access: 'captures:read',
  query: object({ cursor: optional(anyString('Cursor of the previous page')) }),
  data: object({
    /** Origin of the form; null when it is not served. */
    origin: output.nullableText('Origin of the card form'),
    sessions: output.list(
      object({
        id: output.text('Id'),
        state: output.oneOf([...SESSION_STATUSES, 'altered'] as const, 'State'),
        goal: orNull(output.oneOf(['capture', 'token'] as const, 'What the card becomes')),
        description: output.nullableText('What the buyer pays for'),
        capture: output.nullableText('Id of the capture'),
        token: output.nullableText('The token'),
        card: output.nullableText('Card number, first 6 and last 4 digits'),
        attempts: output.integer('Refused submissions'),
        created_at: output.time('Time of creation'),
        expires_at: output.nullableTime('When it expires'),
        ended_at: output.nullableTime('When it ended'),
      }),
      'Open, or ended less than a day ago; the newest first',
    ),
    next: output.nullableText('Cursor of the next page; null at the end'),
  }),
});

/** Cancels an open session, as `DELETE /v1/capture-sessions/{id}` does. */
export const cancelSession = define({
  method: 'DELETE',
  path: '/api/accounts/:account/:environment/card-form/sessions/:id',
  access: 'captures:delete',
  stepUp: true,
  data: object({ done }),
});

const VARIABLE_CHARACTERS = 64;
/** Five names with the commas between them. */
const FONT_CHARACTERS = 5 * 65;
const variable = optional(plainText(VARIABLE_CHARACTERS, 'A value'));

/** Creates a session of the hosted page, to which the user goes and from which the user comes back. Nothing of it is a payment. */
export const tryCardForm = define({
  method: 'POST',
  path: '/api/accounts/:account/card-form/trial',
  access: 'workbench:use',
  body: object({
    return_url: plainText(LIMITS.sessionReturnUrlCharacters, 'Address of the page'),
    locale: optional(oneOf(LOCALES, 'Language of the form')),
    appearance: object({
      theme: optional(plainText(VARIABLE_CHARACTERS, 'Theme')),
      layout: optional(plainText(VARIABLE_CHARACTERS, 'Layout')),
      labels: optional(plainText(VARIABLE_CHARACTERS, 'Labels')),
      variables: optional(
        object({
          fontFamily: optional(plainText(FONT_CHARACTERS, 'Names of fonts')),
          fontSize: variable,
          colorText: variable,
          colorBackground: variable,
          colorPrimary: variable,
          colorDanger: variable,
          colorPlaceholder: variable,
          colorBorder: variable,
          borderRadius: variable,
          spacing: variable,
        } satisfies Record<VariableName, unknown>),
      ),
    }),
  }),
  data: object({ url: output.text('Address of the hosted page') }),
});

/** Creates a session in the sandbox of which the page of the console that asks for it may frame the form. */
export const previewCardForm = define({
  method: 'POST',
  path: '/api/accounts/:account/card-form/preview',
  access: 'workbench:use',
  data: object({
    /** Null when pages at the address of the console cannot hold the form, such as those at an IP address. */
    preview: orNull(
      object({
        id: output.text('Id of the session'),
        client_secret: output.text('Secret of the session'),
      }),
    ),
  }),
});
