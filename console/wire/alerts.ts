import { anyText, list, object, oneOf, output } from '../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { ALERT_KINDS, SEVERITIES } from '../alerts/alert.ts';
import { MAIL_LEVELS } from '../people/person.ts';
import { define, done, orNull } from './definition.ts';

/** Alerts of the accounts of a user, and of the service for operators. */
export const listAlerts = define({
  method: 'GET',
  path: '/api/alerts',
  access: 'person',
  data: object({
    alerts: output.list(
      object({
        id: output.text('Id'),
        account: output.text('Account; empty for the service'),
        account_name: output.text('Its name'),
        environment: orNull(output.oneOf(ENVIRONMENTS, 'Environment')),
        kind: output.oneOf(ALERT_KINDS, 'Kind'),
        severity: output.oneOf(SEVERITIES, 'Severity'),
        subject: output.text('What the alert is about, such as the id of a key; may be empty'),
        label: output.text('Its name; may be empty'),
        number: output.integer('How many there are; 0 where nothing is counted'),
        expires_at: output.nullableTime('Expiry'),
        since: output.time('When the cause began'),
        is_seen: output.bool('The user has marked it as seen'),
      }),
      'Those not seen first, then severe ones, then the newest',
    ),
  }),
});

export const markAlertsSeen = define({
  method: 'POST',
  path: '/api/alerts/seen',
  access: 'person',
  body: object({
    alerts: list(anyText(LIMITS.alertIdCharacters, 'Id'), { min: 1, max: LIMITS.alertsListed }),
  }),
  data: object({ done }),
});

const mails = {
  level: output.oneOf(MAIL_LEVELS, 'Alerts of which severity come by mail'),
  muted: output.list(output.oneOf(ALERT_KINDS, 'Kind'), 'Kinds that do not come by mail'),
};

/** Returns which alerts the user gets by mail. */
export const showAlertMails = define({
  method: 'GET',
  path: '/api/alerts/mails',
  access: 'person',
  data: object({
    is_available: output.bool('A server that sends mails is configured'),
    is_confirmed: output.bool('The address of the user is confirmed; no mails go to another one'),
    ...mails,
  }),
});

export const chooseAlertMails = define({
  method: 'POST',
  path: '/api/alerts/mails',
  access: 'person',
  body: object({
    level: oneOf(MAIL_LEVELS, 'Alerts of which severity come by mail'),
    muted: list(oneOf(ALERT_KINDS, 'Kind'), { min: 0, max: ALERT_KINDS.length }),
  }),
  data: object({ done }),
});
