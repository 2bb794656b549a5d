import type { Language } from '../people/person.ts';
import type { AlertKind, Severity } from './alert.ts';
import type { PersonMail } from './person-mail-store.ts';

/**
 * Texts of mails about alerts. They name the kind and the account, whose name an operator gave, and never an amount, a
 * reference, a part of a card, or a text that a member wrote, such as a name of a user or of a key.
 */
interface MailTexts {
  readonly subject: (count: number) => string;
  readonly intro: string;
  readonly more: (count: number) => string;
  readonly link: string;
  readonly footer: string;
  readonly service: string;
  readonly environment: Readonly<Record<'production' | 'sandbox', string>>;
  readonly severity: Readonly<Record<Severity, string>>;
  readonly kind: Readonly<Record<AlertKind, string>>;
}

type PersonMailTexts = Readonly<
  Record<
    PersonMail['kind'],
    { readonly subject: string; readonly text: (consoleUrl: string, code: string) => readonly string[] }
  >
>;

const NOT_YOU: Readonly<Record<Language, string>> = {
  en: 'If it was not you, tell an owner of your account or an operator immediately: they can reset your sign-in.',
  es: 'Si no fue usted, avise de inmediato a un propietario de su cuenta o a un operador: pueden restablecer su acceso.',
};

/** Texts of mails to a user about their own sign-in, in paragraphs. None names the new address, which is a text of a user. */
export const PERSON_MAIL_TEXTS: Readonly<Record<Language, PersonMailTexts>> = {
  en: {
    'email-changed': {
      subject: 'cardvault: your email address was changed',
      text: (consoleUrl) => [
        'The email address with which you sign in to cardvault was changed from this one to another one, and your other sessions ended.',
        'If you did not change it, tell an owner of your account or an operator at once: they can reset your sign-in.',
        consoleUrl,
      ],
    },
    'password-changed': {
      subject: 'cardvault: your password was changed',
      text: (consoleUrl) => [
        'The password with which you sign in to cardvault was changed, and your other sessions ended.',
        NOT_YOU.en,
        consoleUrl,
      ],
    },
    'factors-changed': {
      subject: 'cardvault: your second factors were changed',
      text: (consoleUrl) => [
        'An authenticator app, a passkey or the recovery codes of your sign-in to cardvault were added, replaced or removed.',
        NOT_YOU.en,
        `${consoleUrl}/profile`,
      ],
    },
    'sign-in-reset': {
      subject: 'cardvault: your sign-in was reset',
      text: (consoleUrl) => [
        'A credential reset link of yours was used: password and second factors of your sign-in to cardvault are new, and all earlier sessions ended.',
        NOT_YOU.en,
        consoleUrl,
      ],
    },
    'new-browser': {
      subject: 'cardvault: sign-in with a new browser',
      text: (consoleUrl) => [
        'You signed in to cardvault with a browser that you have not used for it before, or not for a long time.',
        NOT_YOU.en,
        `${consoleUrl}/profile`,
      ],
    },
    'email-code': {
      subject: 'cardvault: confirm your email address',
      text: (consoleUrl, code) => [
        'Enter this code under Alerts in the console, to get alerts by email at this address:',
        code,
        `${consoleUrl}/alerts`,
        'It is valid for 30 minutes. If you did not request it, ignore this email.',
      ],
    },
  },
  es: {
    'email-changed': {
      subject: 'cardvault: se cambió su correo electrónico',
      text: (consoleUrl) => [
        'El correo electrónico con el que usted ingresa a cardvault se cambió de este a otro, y sus demás sesiones terminaron.',
        'Si usted no lo cambió, avise de inmediato a un propietario de su cuenta o a un operador: pueden restablecer su acceso.',
        consoleUrl,
      ],
    },
    'password-changed': {
      subject: 'cardvault: se cambió su contraseña',
      text: (consoleUrl) => [
        'La contraseña con la que usted ingresa a cardvault se cambió, y sus demás sesiones terminaron.',
        NOT_YOU.es,
        consoleUrl,
      ],
    },
    'factors-changed': {
      subject: 'cardvault: se cambiaron sus segundos factores',
      text: (consoleUrl) => [
        'Se agregó, reemplazó o quitó una aplicación de autenticación, una llave de acceso o los códigos de recuperación con los que usted ingresa a cardvault.',
        NOT_YOU.es,
        `${consoleUrl}/profile`,
      ],
    },
    'sign-in-reset': {
      subject: 'cardvault: se restableció su acceso',
      text: (consoleUrl) => [
        'Se usó un enlace para restablecer su acceso: la contraseña y los segundos factores con los que usted ingresa a cardvault son nuevos, y todas las sesiones anteriores terminaron.',
        NOT_YOU.es,
        consoleUrl,
      ],
    },
    'new-browser': {
      subject: 'cardvault: ingreso con un navegador nuevo',
      text: (consoleUrl) => [
        'Usted ingresó a cardvault con un navegador que no había usado antes, o que no usa desde hace mucho tiempo.',
        NOT_YOU.es,
        `${consoleUrl}/profile`,
      ],
    },
    'email-code': {
      subject: 'cardvault: confirme su correo electrónico',
      text: (consoleUrl, code) => [
        'Escriba este código en Alertas, en la consola, para recibir alertas en este correo:',
        code,
        `${consoleUrl}/alerts`,
        'Vale por 30 minutos. Si usted no lo solicitó, ignore este correo.',
      ],
    },
  },
};

export const MAIL_TEXTS: Readonly<Record<Language, MailTexts>> = {
  en: {
    subject: (count) => (count === 1 ? 'cardvault: one alert' : `cardvault: ${count} alerts`),
    intro: 'These alerts began in cardvault:',
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
      'tokens-end': 'Unused tokens will be deleted',
      'activations-wait': 'Requests for payments wait for an operator',
      'tls-certificate-expires': 'The TLS certificate of the service expires soon',
      'audit-log-altered': 'The audit log did not verify',
      'audit-log-unverified': 'The audit log was not verified for two days',
      'audit-log-not-shipped': 'The audit log is not sent to its receiver',
      'rows-altered': 'Rows were changed in the database itself',
      'sign-ins-refused': 'Sign-ins of a user were refused',
      'keys-changed': 'An API key of production was created or may do more',
      'dual-control-off': 'Dual control was switched off',
      'data-exported': 'Records were exported',
      'operator-commands': 'An operator ran commands',
      'backup-overdue': 'A new backup is overdue',
      'drill-overdue': 'A drill of a backup is overdue',
      'rotation-due': 'Keys of the vault are older than their rotation period',
    },
  },
  es: {
    subject: (count) => (count === 1 ? 'cardvault: una alerta' : `cardvault: ${count} alertas`),
    intro: 'Estas alertas comenzaron en cardvault:',
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
      'tokens-end': 'Se eliminarán tokens sin uso',
      'activations-wait': 'Hay solicitudes de pagos que esperan a un operador',
      'tls-certificate-expires': 'El certificado TLS del servicio vence pronto',
      'audit-log-altered': 'La verificación del registro de auditoría falló',
      'audit-log-unverified': 'El registro de auditoría no se verifica desde hace dos días',
      'audit-log-not-shipped': 'El registro de auditoría no se envía a su receptor',
      'rows-altered': 'Se alteraron filas en la propia base de datos',
      'sign-ins-refused': 'Se rechazaron inicios de sesión de un usuario',
      'keys-changed': 'Se creó o amplió una clave de API de producción',
      'dual-control-off': 'Se desactivó el control dual',
      'data-exported': 'Se exportaron registros',
      'operator-commands': 'Un operador ejecutó comandos',
      'backup-overdue': 'Falta una copia de seguridad nueva',
      'drill-overdue': 'Falta un simulacro de restauración',
      'rotation-due': 'Hay claves de la bóveda que superan su período de rotación',
    },
  },
};
