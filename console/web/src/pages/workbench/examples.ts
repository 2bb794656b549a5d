import type { BodyOf } from './try.ts';

/** Payloads to begin with, as the guides have them. */

export type Kind = BodyOf['kind'];
export const KINDS = ['jose', 'wssec', 'hash'] as const satisfies readonly Kind[];
export const EXAMPLES = ['purchase', 'capture', 'minimal'] as const;
export type ExampleName = (typeof EXAMPLES)[number];

/** What stands in the placeholders of an example. */
interface Records {
  readonly token: string;
  readonly capture: string;
}

type Example = (records: Records) => string;

const joseCard = (source: string, cvv: string): string => `{
  "uniqueCode": "A-1001",
  "terminalId": "00012345",
  "purchaseAmount": 12500,
  "ivaTax": 0.00,
  "currencyCode": "COP",
  "cardData": {
    "cardNumber": "{{${source} | extract:card}}",
    "cardExpireMonth": "{{${source} | extract:expiration | date:MM}}",
    "cardExpireYear": "{{${source} | extract:expiration | date:YY}}",
    "cvv": ${cvv},
    "brandId": "VISA"
  },
  "installmentsNumber": 1
}`;

const wssecCard = (source: string, cvv: string): string => `<compra xmlns="http://www.example.com/compra">
  <cabecera><terminal>00012345</terminal></cabecera>
  <medioPago>
    <franquicia>VISA</franquicia>
    <numeroTarjeta>{{${source} | extract:card}}</numeroTarjeta>
    <fechaExpiracion>{{${source} | extract:expiration | date:YYYY-MM}}</fechaExpiracion>${cvv}
  </medioPago>
  <total>12500.00</total>
</compra>`;

const ofToken = (token: string): string => `${token}:detokenize`;
const ofCapture = (capture: string): string => `${capture}:transaction`;

export const PAYLOADS: Readonly<Record<Kind, Readonly<Record<ExampleName, Example>>>> = {
  jose: {
    purchase: ({ token }) => joseCard(ofToken(token), 'null'),
    capture: ({ capture }) => joseCard(ofCapture(capture), `"{{${ofCapture(capture)} | extract:cvv}}"`),
    minimal: ({ token }) => `{ "number": "{{${ofToken(token)}}}" }`,
  },
  wssec: {
    purchase: ({ token }) => wssecCard(ofToken(token), ''),
    capture: ({ capture }) =>
      wssecCard(ofCapture(capture), `\n    <codigo>{{${ofCapture(capture)} | extract:cvv}}</codigo>`),
    minimal: ({ token }) => `<card>{{${ofToken(token)}}}</card>`,
  },
  hash: {
    purchase: ({ token }) => `{"chd":{"holder":"{{${ofToken(token)} | extract:name}}",
 "number":"{{${ofToken(token)} | extract:card}}",
 "expiration":{"month":"{{${ofToken(token)} | extract:expiration | date:MM}}",
  "year":"{{${ofToken(token)} | extract:expiration | date:YYYY}}"}}}`,
    capture: ({ capture }) => `{{${ofCapture(capture)} | extract:card}};{{${ofCapture(capture)} | extract:cvv}}`,
    minimal: ({ token }) => `{{${ofToken(token)}}}`,
  },
};
