import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { ALERT_KINDS } from '../../alerts/alert.ts';
import { resolveAlertMails } from '../../people/person.ts';
import { chooseAlertMails, listAlerts, markAlertsSeen, showAlertMails } from '../../wire/alerts.ts';
import { type Route, route } from '../route.ts';

export const alertRoutes: readonly Route[] = [
  route(listAlerts, async ({ services, person }) => {
    const memberships = await services.people.team.listMembershipsOf(person.id);
    const alerts = await services.alerts.listFor(person.id, memberships);
    const accounts = [...new Set(alerts.map(({ account }) => account))].filter((account) => account !== '');
    const found = await Promise.all(accounts.map((account) => services.accounts.find(account)));
    const names = new Map(found.map((account) => [account?.id ?? '', account?.name ?? '']));
    return {
      alerts: alerts.map(({ account, environment, expiresAt, since, isSeen, ...alert }) => ({
        ...alert,
        account,
        account_name: names.get(account) ?? '',
        environment: environment === '' ? null : environment,
        expires_at: formatIso8601OrNull(expiresAt),
        since: formatIso8601(since),
        is_seen: isSeen,
      })),
    };
  }),

  route(markAlertsSeen, async ({ services, transaction, person, body }) => {
    const memberships = await services.people.team.listMembershipsOf(person.id);
    await services.alerts.markSeen(transaction, person.id, memberships, body.alerts);
    return { done: true };
  }),

  route(showAlertMails, async ({ services, person }) => {
    const { level, muted } = resolveAlertMails(person);
    return {
      is_available: services.serviceInfo.sendsMails,
      is_confirmed: person.isEmailUnconfirmed !== true,
      level,
      muted: ALERT_KINDS.filter((kind) => muted.includes(kind)),
    };
  }),

  route(chooseAlertMails, async ({ services, transaction, session, body: { level, muted } }) => {
    await services.people.people.edit(transaction, session, { alertMails: { level, muted: [...new Set(muted)] } });
    return { done: true };
  }),
];
