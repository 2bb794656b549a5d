/** Payloads as merchants send them to the proxy: placeholders of one token each, of the usual length. */

const CARD = 'extract:card';
const MONTH = 'extract:expiration | date:MM';
const YEAR = 'extract:expiration | date:YY';

const placeholder = (token: string, part: string): string => `{{${token}:detokenize | ${part}}}`;

/** About 600 bytes with 3 placeholders. */
export const purchaseInJson = (token: string): string =>
  JSON.stringify({
    uniqueCode: 'A-100001',
    terminalId: '00012345',
    purchaseAmount: 12_500,
    ivaTax: 1996,
    iacTax: 0,
    currencyCode: 'COP',
    cardData: {
      cardNumber: placeholder(token, CARD),
      cardExpireMonth: placeholder(token, MONTH),
      cardExpireYear: placeholder(token, YEAR),
      cvv: null,
      brandId: 'VISA',
      cardAccountTypeId: 'CREDIT',
    },
    installmentsNumber: 1,
    ipAddress: '203.0.113.17',
    references: [{ referenceKey: 'order', referenceDescription: 'A-100001' }],
    merchantNameAggregate: 'Tienda de Ana',
    mcc: '5411',
  });

/** About 1.6 kB with 3 placeholders: two namespaces, attributes, line breaks. */
export const purchaseInXml = (token: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<com:compraProcesarSolicitud xmlns:com="http://www.example.com/compraElectronica/compra" xmlns:esb="http://www.example.com/esb/informacion">
  <com:cabeceraSolicitud>
    <com:infoPuntoInteraccion>
      <esb:tipoTerminal>WEB</esb:tipoTerminal>
      <esb:idTerminal>ESB10934</esb:idTerminal>
      <esb:idAdquiriente>0010203040</esb:idAdquiriente>
      <esb:idTransaccionTerminal>100001</esb:idTransaccionTerminal>
      <esb:modoCapturaPAN>Manual</esb:modoCapturaPAN>
      <esb:capacidadPIN>Virtual</esb:capacidadPIN>
    </com:infoPuntoInteraccion>
  </com:cabeceraSolicitud>
  <com:idPersona>
    <esb:tipoDocumento>CC</esb:tipoDocumento>
    <esb:numDocumento>1018450000</esb:numDocumento>
  </com:idPersona>
  <com:infoMedioPago>
    <com:idTarjetaCredito>
      <esb:franquicia>VISA</esb:franquicia>
      <esb:numTarjeta>${placeholder(token, CARD)}</esb:numTarjeta>
      <esb:fechaExpiracion mes="${placeholder(token, MONTH)}" ano="${placeholder(token, YEAR)}"></esb:fechaExpiracion>
    </com:idTarjetaCredito>
  </com:infoMedioPago>
  <com:infoCompra>
    <com:montoTotal>125000.00</com:montoTotal>
    <com:infoImpuestos tipoImpuesto="IVA">
      <esb:monto>19958.00</esb:monto>
      <esb:baseImpuesto>105042.00</esb:baseImpuesto>
    </com:infoImpuestos>
    <com:referencia>Pedido A-100001 &amp; envío</com:referencia>
    <com:cantidadCuotas>1</com:cantidadCuotas>
  </com:infoCompra>
</com:compraProcesarSolicitud>
`;

/** 400 bytes; the placeholders count as they are written. */
export function hashed(token: string | undefined): string {
  const card = token === undefined ? '4111118372951111' : placeholder(token, CARD);
  const expiry = token === undefined ? '12' : placeholder(token, MONTH);
  const year = token === undefined ? '29' : placeholder(token, YEAR);
  const text = JSON.stringify({ uniqueCode: 'A-100001', number: card, month: expiry, year, amount: 12_500, text: '' });
  return text.replace('"text":""', `"text":"${'x'.repeat(HASHED_BYTES - text.length)}"`);
}

const HASHED_BYTES = 400;
