/** The values that the editor offers, by the names of the API; an empty value is the standard. */
export const CHOICES = {
  theme: ['', 'light', 'dark', 'auto'],
  layout: ['', 'stacked', 'compact'],
  labels: ['', 'above', 'floating', 'hidden'],
  locale: ['', 'en', 'es', 'pt'],
  borderRadius: ['', '0px', '4px', '8px', '16px'],
} as const;

export type Choice = keyof typeof CHOICES;

export type FormValues = Readonly<Record<Choice | 'colorPrimary', string>>;

export const STANDARD: FormValues = {
  theme: '',
  layout: '',
  labels: '',
  locale: '',
  borderRadius: '',
  colorPrimary: '',
};

const present = (values: Readonly<Record<string, string>>): Record<string, string> | undefined => {
  const entries = Object.entries(values).filter(([, value]) => value !== '');
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
};

/** Returns the members of a session that the editor has chosen. */
export function toSession({ theme, layout, labels, locale, borderRadius, colorPrimary }: FormValues) {
  const variables = present({ colorPrimary, borderRadius });
  const choices = present({ theme, layout, labels });
  return {
    locale: locale === '' ? undefined : (locale as 'en' | 'es' | 'pt'),
    appearance:
      choices === undefined && variables === undefined ? undefined : { ...choices, ...(variables && { variables }) },
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
    try {
      const { result, card } = await form.submit();
      await fetch('/orders/A-1001/pay', { method: 'POST' });
    } catch (error) {
      console.log(error.code, error.fields);
    }
  });
</script>`;
