import type { processors as english } from '../en/processors.ts';

export const processors: typeof english = {
  about: {
    common: {
      'opened-expiry': 'Cuánto tiempo puede quedar abierto un pago',
      'authorization-expiry': 'Cuánto tiempo se conserva una autorización',
      'erase-sad': 'Borrar el cvv y la pista 2 de una captura en cuanto una autorización los haya usado',
      'payment-scheme': 'Forma de los tokens para las tarjetas que traen los pagos',
      'timeout-ms': 'Cuánto puede tardar el procesador en responder, en milisegundos',
      'recovery-delay-ms': 'Cuánto esperar antes de preguntar por un resultado desconocido, en milisegundos',
      'recovery-max': 'Cuánto puede quedar sin confirmar una autorización antes de revertirla',
    },
    simulator: {},
    cybersource: {
      'base-url': 'Dirección de CyberSource. Si no se define, la del entorno',
      'merchant-id': 'Id de comercio de las transacciones',
      'key-id': 'Id de la clave REST',
      'shared-secret': 'Secreto compartido de la clave REST',
      auth: 'Cómo se firman las solicitudes',
      'mle-certificate': 'Certificado para el cifrado de mensajes; necesita auth=jwt',
      'soft-decline':
        'Qué hacer con una autorización que el emisor aprobó y CyberSource marcó por la dirección o el código de la tarjeta',
    },
    koin: {
      'base-url': 'Dirección de la API de pagos de KOIN. Si no se define, la del entorno',
      'tokenize-url':
        'Dirección donde las tarjetas se cambian por un token seguro. Si no se define, base-url o la del entorno',
      'private-key': 'Clave privada que le dio KOIN',
      account: 'Número de cuenta que le dio KOIN',
      'store-code': 'Código de tienda que le dio KOIN',
      'store-category': 'Código de categoría del comercio; se envía con el antifraude',
      'country-code': 'País de los pagos. Si no se define, el del pagador',
      'notification-url': 'Dirección pública de este servicio para avisos. Si no se define, no se pide ninguno',
      antifraud: 'Enviar los pagos por el antifraude de KOIN',
    },
  },
};
