import type { Language } from '../people/person.ts';
import type { AlertKind, Severity } from './alert.ts';

/** Texts of mails about alerts. They name the kind and the account, and never an amount, a reference or a part of a card. */
interface MailTexts {
  readonly subject: (count: number) => string;
  readonly greeting: (name: string) => string;
  readonly intro: string;
  readonly more: (count: number) => string;
  readonly link: string;
  readonly footer: string;
  readonly service: string;
  readonly environment: Readonly<Record<'production' | 'sandbox', string>>;
  readonly severity: Readonly<Record<Severity, string>>;
  readonly kind: Readonly<Record<AlertKind, string>>;
}

export const MAIL_TEXTS: Readonly<Record<Language, MailTexts>> = {
  en: {
    subject: (count) => (count === 1 ? 'cardvault: one alert' : `cardvault: ${count} alerts`),
    greeting: (name) => `Hello ${name},`,
    intro: 'these alerts began in cardvault:',
    more: (count) => `and ${count} more.`,
    link: 'Open the list to see the details:',
    footer: 'You choose under Alerts which alerts come by email.',
    service: 'Service',
    environment: { production: 'production', sandbox: 'sandbox' },
    severity: { high: 'High', medium: 'Medium' },
    kind: {
      'unknown-outcomes': 'Payments with an unknown outcome',
      'key-expires': 'An API key expires soon',
      'requests-refused': 'Many requests were denied or exceeded their rate limit',
      'certificate-expires': 'The merchant certificate of the proxy expires soon',
      'processor-key-expires': 'The processor key of the proxy expires soon',
      'approvals-wait': 'Changes wait for approval',
      'settings-changed': 'An operator changed settings',
      'activations-wait': 'Requests for payments wait for an operator',
      'tls-certificate-expires': 'The TLS certificate of the service expires soon',
      'audit-log-altered': 'The audit log did not verify',
      'audit-log-unverified': 'The audit log was not verified for two days',
    },
  },
  es: {
    subject: (count) => (count === 1 ? 'cardvault: una alerta' : `cardvault: ${count} alertas`),
    greeting: (name) => `Hola, ${name}:`,
    intro: 'estas alertas comenzaron en cardvault:',
    more: (count) => `y ${count} más.`,
    link: 'Abra la lista para ver los detalles:',
    footer: 'En Alertas usted elige qué alertas llegan por correo.',
    service: 'Servicio',
    environment: { production: 'producción', sandbox: 'sandbox' },
    severity: { high: 'Alta', medium: 'Media' },
    kind: {
      'unknown-outcomes': 'Pagos con resultado desconocido',
      'key-expires': 'Una clave de API vence pronto',
      'requests-refused': 'Muchas solicitudes fueron denegadas o superaron su límite',
      'certificate-expires': 'El certificado del comercio en el proxy vence pronto',
      'processor-key-expires': 'La clave del procesador en el proxy vence pronto',
      'approvals-wait': 'Hay cambios que esperan aprobación',
      'settings-changed': 'Un operador cambió la configuración',
      'activations-wait': 'Hay solicitudes de pagos que esperan a un operador',
      'tls-certificate-expires': 'El certificado TLS del servicio vence pronto',
      'audit-log-altered': 'La verificación del registro de auditoría falló',
      'audit-log-unverified': 'El registro de auditoría no se verifica desde hace dos días',
    },
  },
};
