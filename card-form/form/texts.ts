import type { FieldCode, FieldName } from '../../src/kernel/card-entry.ts';

/** The texts of the form and the hosted page. */

interface Texts {
  readonly labels: Readonly<Record<FieldName, string>>;
  readonly optional: string;
  readonly errors: Readonly<Record<FieldName, Readonly<Partial<Record<FieldCode, string>>>>>;
  readonly sandbox: string;
  readonly submit: string;
  readonly submitting: string;
  readonly back: string;
  readonly again: string;
  readonly unreachable: string;
  readonly ended: Readonly<Record<string, string>>;
  readonly unknown: string;
  readonly goOn: string;
}

const en: Texts = {
  labels: { number: 'Card number', exp: 'Expiry date', name: 'Name on card', cvv: 'Security code' },
  optional: 'optional',
  errors: {
    number: {
      required: 'Enter the card number.',
      incomplete: 'The card number is incomplete.',
      invalid: 'Check the card number.',
      brand_not_accepted: 'This brand of card is not accepted.',
      unavailable: 'This card cannot be stored. Use another one.',
    },
    exp: {
      required: 'Enter the expiry date.',
      invalid: 'Enter month and year, as 09/29.',
      expired: 'The card has expired.',
    },
    name: { required: 'Enter the name on the card.', invalid: 'Check the name on the card.' },
    cvv: {
      required: 'Enter the security code.',
      incomplete: 'The security code is incomplete.',
      invalid: 'Check the security code.',
    },
  },
  sandbox: 'Test mode: enter test cards only.',
  submit: 'Continue',
  submitting: 'One moment…',
  back: 'Cancel and go back',
  again: 'Try again',
  unreachable: 'No connection. Check it, then try again.',
  ended: {
    completed: 'The card was received.',
    cancelled: 'This was cancelled.',
    failed: 'There were too many attempts. Go back and start again.',
    expired: 'The time is over. Go back and start again.',
  },
  unknown: 'This form does not exist any more. Go back to the shop and start again.',
  goOn: 'Back to the shop',
};

const es: Texts = {
  labels: { number: 'Número de tarjeta', exp: 'Vencimiento', name: 'Nombre en la tarjeta', cvv: 'Código de seguridad' },
  optional: 'opcional',
  errors: {
    number: {
      required: 'Ingrese el número de tarjeta.',
      incomplete: 'El número de tarjeta está incompleto.',
      invalid: 'Revise el número de tarjeta.',
      brand_not_accepted: 'Esta marca de tarjeta no se acepta.',
      unavailable: 'Esta tarjeta no se puede guardar. Use otra.',
    },
    exp: {
      required: 'Ingrese el vencimiento.',
      invalid: 'Ingrese mes y año, como 09/29.',
      expired: 'La tarjeta venció.',
    },
    name: { required: 'Ingrese el nombre en la tarjeta.', invalid: 'Revise el nombre en la tarjeta.' },
    cvv: {
      required: 'Ingrese el código de seguridad.',
      incomplete: 'El código de seguridad está incompleto.',
      invalid: 'Revise el código de seguridad.',
    },
  },
  sandbox: 'Modo de prueba: use solo tarjetas de prueba.',
  submit: 'Continuar',
  submitting: 'Un momento…',
  back: 'Cancelar y volver',
  again: 'Intentar de nuevo',
  unreachable: 'No hay conexión. Revísela y vuelva a intentarlo.',
  ended: {
    completed: 'La tarjeta se recibió.',
    cancelled: 'Se canceló.',
    failed: 'Hubo demasiados intentos. Vuelva y comience de nuevo.',
    expired: 'El tiempo terminó. Vuelva y comience de nuevo.',
  },
  unknown: 'Este formulario ya no existe. Vuelva a la tienda y comience de nuevo.',
  goOn: 'Volver a la tienda',
};

const pt: Texts = {
  labels: { number: 'Número do cartão', exp: 'Validade', name: 'Nome no cartão', cvv: 'Código de segurança' },
  optional: 'opcional',
  errors: {
    number: {
      required: 'Digite o número do cartão.',
      incomplete: 'O número do cartão está incompleto.',
      invalid: 'Verifique o número do cartão.',
      brand_not_accepted: 'Esta bandeira não é aceita.',
      unavailable: 'Este cartão não pode ser guardado. Use outro.',
    },
    exp: { required: 'Digite a validade.', invalid: 'Digite mês e ano, como 09/29.', expired: 'O cartão venceu.' },
    name: { required: 'Digite o nome no cartão.', invalid: 'Verifique o nome no cartão.' },
    cvv: {
      required: 'Digite o código de segurança.',
      incomplete: 'O código de segurança está incompleto.',
      invalid: 'Verifique o código de segurança.',
    },
  },
  sandbox: 'Modo de teste: use somente cartões de teste.',
  submit: 'Continuar',
  submitting: 'Um momento…',
  back: 'Cancelar e voltar',
  again: 'Tentar de novo',
  unreachable: 'Sem conexão. Verifique-a e tente de novo.',
  ended: {
    completed: 'O cartão foi recebido.',
    cancelled: 'Foi cancelado.',
    failed: 'Houve tentativas demais. Volte e comece de novo.',
    expired: 'O tempo acabou. Volte e comece de novo.',
  },
  unknown: 'Este formulário não existe mais. Volte à loja e comece de novo.',
  goOn: 'Voltar à loja',
};

export const TEXTS = { en, es, pt };
export type Locale = keyof typeof TEXTS;

/** The wanted locale, or the first known one among the browser's languages, or English. */
export function chooseLocale(wanted: string | undefined, languages: readonly string[]): Locale {
  const known = (tag: string): Locale | undefined => {
    const [language = ''] = tag.toLowerCase().split('-');
    return Object.hasOwn(TEXTS, language) ? (language as Locale) : undefined;
  };
  for (const tag of wanted === undefined ? languages : [wanted, ...languages]) {
    const locale = known(tag);
    if (locale !== undefined) return locale;
  }
  return 'en';
}
