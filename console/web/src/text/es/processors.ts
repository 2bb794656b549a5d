import type { processors as english } from '../en/processors.ts';

export const processors: typeof english = {
  about: {
    common: {
      'opened-expiry': 'Tiempo hasta que vence un pago abierto',
      'authorization-expiry': 'Tiempo hasta que vence una autorización',
      'erase-sad': 'Eliminar el CVV y la pista 2 de una captura después de que una autorización los use',
      'payment-scheme': 'Formato de los tokens para las tarjetas de los pagos',
      'timeout-ms': 'Tiempo que tiene el procesador para responder, en milisegundos',
      'recovery-delay-ms': 'Espera antes de consultar un resultado desconocido, en milisegundos',
      'recovery-max': 'Tiempo que puede quedar sin confirmar una autorización antes del reverso',
    },
    simulator: {},
    cybersource: {
      'base-url': 'Dirección de CyberSource. Predeterminada: la del entorno',
      'merchant-id': 'Id de comercio de las transacciones',
      'key-id': 'Id de la clave REST',
      'shared-secret': 'Secreto compartido de la clave REST',
      auth: 'Cómo se firman las solicitudes',
      'mle-certificate': 'Certificado para el cifrado de mensajes; necesita auth=jwt',
      'soft-decline':
        'Acción para una autorización que el emisor aprobó y CyberSource rechazó por la verificación de dirección o del código de la tarjeta',
    },
    koin: {
      'base-url': 'Dirección de la API de pagos de KOIN. Predeterminada: la del entorno',
      'tokenize-url':
        'Dirección donde las tarjetas se cambian por un token seguro. Predeterminada: base-url, o la del entorno',
      'private-key': 'Clave privada que le dio KOIN',
      account: 'Número de cuenta que le dio KOIN',
      'store-code': 'Código de tienda que le dio KOIN',
      'store-category': 'Código de categoría del comercio; se envía con el antifraude',
      'country-code': 'País de los pagos. Predeterminado: el del pagador',
      'notification-url': 'Dirección pública de este servicio para notificaciones. Si no se define, no se solicitan',
      antifraud: 'Enviar los pagos por el antifraude de KOIN',
    },
  },
};
