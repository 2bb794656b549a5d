/** Descriptions of processor settings: `common` for all, then by processor name. */
export const processors = {
  about: {
    common: {
      'opened-expiry': 'Time until an opened payment expires',
      'authorization-expiry': 'Time until an authorization expires',
      'erase-sad': 'Delete CVV and track 2 data of a capture after an authorization has used it',
      'payment-scheme': 'Format of the tokens for cards in payments',
      'timeout-ms': 'Time the processor has to respond, in milliseconds',
      'recovery-delay-ms': 'Wait before an unknown outcome is checked, in milliseconds',
      'recovery-max': 'Time an authorization may stay unconfirmed before it is reversed',
    },
    simulator: {},
    cybersource: {
      'base-url': 'Address of CyberSource. Default: the address of the environment',
      'merchant-id': 'Merchant id of the transactions',
      'key-id': 'Id of the REST key',
      'shared-secret': 'Shared secret of the REST key',
      auth: 'How requests are signed',
      'mle-certificate': 'Certificate for message-level encryption; needs auth=jwt',
      'soft-decline':
        'Action for an authorization that the issuer approved and CyberSource declined because of its address or card code check',
    },
    koin: {
      'base-url': 'Address of the KOIN payments API. Default: the address of the environment',
      'tokenize-url':
        'Address where cards are exchanged for a secure token. Default: base-url, or the address of the environment',
      'private-key': 'Private key that KOIN gave you',
      account: 'Account number that KOIN gave you',
      'store-code': 'Store code that KOIN gave you',
      'store-category': 'Merchant category code; sent with antifraud',
      'country-code': 'Country of the payments. Default: the country of the payer',
      'notification-url': 'Public address of this service for notifications. When not set, none are requested',
      antifraud: 'Send payments through the antifraud of KOIN',
    },
  },
};
