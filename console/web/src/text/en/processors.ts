/** What each setting of a processor decides: `common` those of all, then those of one, by the name that the service gives it. */
export const processors = {
  about: {
    common: {
      'opened-expiry': 'How long a payment may stay opened',
      'authorization-expiry': 'How long an authorization is kept',
      'erase-sad': 'Erase cvv and track 2 of a capture once an authorization has used it',
      'payment-scheme': 'Form of the tokens for cards that payments bring',
      'timeout-ms': 'How long the processor may take to answer, in milliseconds',
      'recovery-delay-ms': 'How long to wait before an unknown outcome is asked for, in milliseconds',
      'recovery-max': 'How long an authorization may stay unconfirmed before it is reversed',
    },
    simulator: {},
    cybersource: {
      'base-url': 'Address of CyberSource. When not set, the one of the environment',
      'merchant-id': 'Merchant id of the transactions',
      'key-id': 'Id of the REST key',
      'shared-secret': 'Shared secret of the REST key',
      auth: 'How requests are signed',
      'mle-certificate': 'Certificate for message-level encryption; needs auth=jwt',
      'soft-decline':
        'What to do with an authorization that the issuer approved and CyberSource flagged for its address or card code check',
    },
    koin: {
      'base-url': 'Address of the KOIN payments API. When not set, the one of the environment',
      'tokenize-url':
        'Address where cards are exchanged for a secure token. When not set, base-url or the one of the environment',
      'private-key': 'Private key that KOIN gave you',
      account: 'Account number that KOIN gave you',
      'store-code': 'Store code that KOIN gave you',
      'store-category': 'Merchant category code; sent with antifraud',
      'country-code': 'Country of the payments. When not set, the one of the payer',
      'notification-url': 'Public address of this service for notifications. When not set, none are asked for',
      antifraud: 'Send payments through the antifraud of KOIN',
    },
  },
};
