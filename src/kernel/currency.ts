/**
 * ISO 4217 with the decimals of each minor unit. Funds codes and metals are included, as in the list of the standard.
 * Codes that later amendments withdrew stay, because refunds of older payments still name them.
 */
const BY_EXPONENT: readonly (readonly [places: number, codes: string])[] = [
  [
    0,
    'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XAG XAU XBA XBB XBC XBD XDR XOF XPD XPF XPT XSU XTS XUA XXX',
  ],
  [
    2,
    'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG ZWL',
  ],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
];

const MINOR_UNIT_DIGITS = new Map(
  BY_EXPONENT.flatMap(([places, codes]) => codes.split(' ').map((code) => [code, places] as const)),
);

/** A code of ISO 4217: three upper-case letters. */
export type Currency = string & { readonly __currency: true };

/** Returns the currency of a code in either case; undefined when ISO 4217 has no such code. */
export function parseCurrency(text: string): Currency | undefined {
  const code = text.toUpperCase();
  return /^[A-Za-z]{3}$/.test(text) && MINOR_UNIT_DIGITS.has(code) ? (code as Currency) : undefined;
}

/** The most decimals that a minor unit has. */
export const MAX_MINOR_UNIT_DIGITS = 4;

/** Returns the decimals of the minor unit, 0 to 4. */
export const minorUnitDigits = (currency: Currency): number => MINOR_UNIT_DIGITS.get(currency) ?? 0;
