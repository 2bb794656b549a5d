import {
  type Appearance,
  findAppearanceFault,
  type VariableName,
} from '../../../../../src/capture-sessions/appearance.ts';

/** The values that the editor offers, by the names of the API; an empty value is the standard. */
export const CHOICES = {
  theme: ['', 'light', 'dark', 'auto'],
  layout: ['', 'stacked', 'compact'],
  labels: ['', 'above', 'floating', 'hidden'],
  locale: ['', 'en', 'es', 'pt'],
} as const;

export type Choice = keyof typeof CHOICES;

/** Every variable of an appearance, with the kind of its field. */
export const VARIABLES: Readonly<Record<VariableName, 'text' | 'color'>> = {
  fontFamily: 'text',
  fontSize: 'text',
  spacing: 'text',
  borderRadius: 'text',
  colorText: 'color',
  colorBackground: 'color',
  colorPrimary: 'color',
  colorDanger: 'color',
  colorPlaceholder: 'color',
  colorBorder: 'color',
};

export const VARIABLE_NAMES = Object.keys(VARIABLES) as VariableName[];

export type FormValues = Readonly<Record<Choice | VariableName, string>>;

export const STANDARD = Object.fromEntries(
  [...Object.keys(CHOICES), ...VARIABLE_NAMES].map((name) => [name, '']),
) as FormValues;

/** True for a value that the service would refuse: the same check decides. */
export const isFaulty = (values: FormValues, name: VariableName): boolean =>
  values[name] !== '' && findAppearanceFault({ variables: { [name]: values[name] } }) !== undefined;

const present = (values: Readonly<Record<string, string>>): Record<string, string> | undefined => {
  const entries = Object.entries(values).filter(([, value]) => value !== '');
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
};

/** Returns the members of a session that the editor has chosen, without variables that the service would refuse. */
export function toSession(values: FormValues) {
  const { theme, layout, labels, locale } = values;
  const allowed = VARIABLE_NAMES.filter((name) => !isFaulty(values, name));
  const variables = present(Object.fromEntries(allowed.map((name) => [name, values[name]])));
  const choices = present({ theme, layout, labels });
  return {
    locale: locale === '' ? undefined : (locale as 'en' | 'es' | 'pt'),
    appearance:
      choices === undefined && variables === undefined
        ? undefined
        : ({ ...choices, ...(variables && { variables }) } as Appearance),
  };
}

/** Returns the body with which the server of a shop creates a session that looks like that. */
export const toSessionBody = (values: FormValues) => ({
  ...{ allowed_origins: ['https://shop.example.com'], amount: 12_500, currency: 'USD', ttl: 15 },
  ...toSession(values),
});

/** Returns what a page needs to show the form; the guide `browser.md` begins with it. */
export const toPageCode = (origin: string): string => `<div id="card"></div>
<button id="pay">Pay</button>
<script src="${origin}/v1/cardvault.js"></script>
<script>
  const form = CardVault.mount('#card', { session: SESSION_ID, clientSecret: CLIENT_SECRET });
  document.querySelector('#pay').addEventListener('click', async () => {
    const refusal = await form.submit().then(() => undefined, (error) => error);
    // The session may have its card from a visit before. Your server pays with it once, however often it is asked.
    if (refusal === undefined || refusal.code === 'session_completed')
      await fetch('/orders/A-1001/pay', { method: 'POST' });
    else console.log(refusal.code, refusal.fields);
  });
</script>`;
