/** Namespaces of WS-Security and of what it is made of. */
export const SOAP = 'http://schemas.xmlsoap.org/soap/envelope/';
export const WSSE = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd';
export const WSU = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd';
export const DS = 'http://www.w3.org/2000/09/xmldsig#';
export const DSIG_MORE = 'http://www.w3.org/2001/04/xmldsig-more#';
export const XENC = 'http://www.w3.org/2001/04/xmlenc#';
export const XENC11 = 'http://www.w3.org/2009/xmlenc11#';
export const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#';
