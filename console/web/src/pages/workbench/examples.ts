import type { WorkbenchBody } from './workbench-run.ts';

/** Example payloads, as in the guides. */

export type Kind = WorkbenchBody['kind'];
export const KINDS = ['jose', 'wssec', 'hash'] as const satisfies readonly Kind[];
export const EXAMPLES = ['purchase', 'capture', 'minimal'] as const;
export type ExampleName = (typeof EXAMPLES)[number];

/** Records for the placeholders of an example. */
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

const tokenSource = (token: string): string => `${token}:detokenize`;
const captureSource = (capture: string): string => `${capture}:transaction`;

export const PAYLOADS: Readonly<Record<Kind, Readonly<Record<ExampleName, Example>>>> = {
  jose: {
    purchase: ({ token }) => joseCard(tokenSource(token), 'null'),
    capture: ({ capture }) => joseCard(captureSource(capture), `"{{${captureSource(capture)} | extract:cvv}}"`),
    minimal: ({ token }) => `{ "number": "{{${tokenSource(token)}}}" }`,
  },
  wssec: {
    purchase: ({ token }) => wssecCard(tokenSource(token), ''),
    capture: ({ capture }) =>
      wssecCard(captureSource(capture), `\n    <codigo>{{${captureSource(capture)} | extract:cvv}}</codigo>`),
    minimal: ({ token }) => `<card>{{${tokenSource(token)}}}</card>`,
  },
  hash: {
    purchase: ({ token }) => `{"chd":{"holder":"{{${tokenSource(token)} | extract:name}}",
 "number":"{{${tokenSource(token)} | extract:card}}",
 "expiration":{"month":"{{${tokenSource(token)} | extract:expiration | date:MM}}",
  "year":"{{${tokenSource(token)} | extract:expiration | date:YYYY}}"}}}`,
    capture: ({ capture }) =>
      `{{${captureSource(capture)} | extract:card}};{{${captureSource(capture)} | extract:cvv}}`,
    minimal: ({ token }) => `{{${tokenSource(token)}}}`,
  },
};
