import type { testPayment as english } from '../en/test-payment.ts';

export const testPayment: typeof english = {
  title: 'Enviar un pago de prueba',
  description: 'Envía un pago al simulador del entorno de pruebas. No mueve dinero y usted elige el resultado.',
  back: 'Todos los pagos',
  caption: 'Disparadores del simulador',
  triggers: 'Resultado',
  triggersText:
    'La primera regla que coincide con una solicitud decide su resultado. Sus propias solicitudes pueden usar los mismos valores.',
  columns: { trigger: 'Solicitud', outcome: 'Resultado' },
  when: {
    expiry: 'Fecha de vencimiento pasada',
    triggers: 'Correo con {{triggers}}',
    card: 'Tarjeta {{card}}',
    amount: 'Monto de {{from}} a {{to}}',
    default: 'Cualquier otra solicitud',
  },
  outcome: {
    approved: 'Autorizado, o cobrado si es un pago',
    unanswered: 'Sin respuesta: abierto, y la recuperación lo encuentra en 30 segundos',
    opened: 'Abierto hasta una anulación o el vencimiento',
    lost: 'Nunca llega y no hay respuesta: abierto, y después lo resuelve la recuperación',
    refused_connection: 'Conexión rechazada: con certeza no se envió',
    late_accept: 'Abierto, autorizado después de 5 segundos con una notificación',
    late_reject: 'Abierto, rechazado después de 5 segundos con una notificación',
    late_failure: 'Autorizado, rechazado después de 5 segundos con una notificación',
    silent_accept: 'Abierto, autorizado después de 5 segundos sin notificación',
  },
  type: 'Tipo',
  types: { authorization: 'Autorización', payment: 'Pago' },
  typeText: {
    authorization: 'Retiene el monto. Después puede capturarlo o anularlo.',
    payment: 'Autoriza y captura el monto en un solo paso.',
  },
  reference: 'PAGO-DE-PRUEBA',
  send: 'Enviar pago de prueba',
  expected: 'Resultado esperado: {{outcome}}.',
  request: 'La misma solicitud con curl',
  notEnabled: 'Los pagos todavía no están habilitados en el entorno de pruebas.',
  toOnboarding: 'Solicitar pagos',
  otherProcessor:
    'Los pagos de prueba de esta cuenta van a {{processor}}, para el que estos disparadores no significan nada.',
  sent: 'Se envió el pago',
  opened: 'Su resultado todavía no es definitivo. La página del pago muestra cómo continúa.',
  view: 'Ver el pago',
  failed: 'La API rechazó el pago con {{status}}',
  response: 'Respuesta',
};
