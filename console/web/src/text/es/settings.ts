import type { settings as english } from '../en/settings.ts';

export const settings: typeof english = {
  title: 'Configuración',
  description: 'Configuración de seguridad de esta cuenta.',
  dualControl: {
    title: 'Aprobación de dos personas (control dual)',
    text: 'Un usuario solicita un cambio en producción, otro lo aprueba y después el primero lo ejecuta. Un solo error o un solo acceso robado no puede cambiar producción.',
    on: 'Activado',
    off: 'Desactivado',
    covers: 'Se aplica a',
    list: {
      keys: 'Crear, cambiar y rotar claves de API',
      payments: 'Capturas, devoluciones y anulaciones manuales',
      proxy: 'Claves y configuración del proxy',
      tokens: 'Eliminar tokens',
      team: 'Invitar usuarios, cambiar roles y restablecer accesos',
      operator: 'Configuración del procesador y del proxy que cambia un operador, también desde la línea de comandos',
      settings: 'Desactivar la aprobación de dos personas',
    },
    never:
      'Revocar claves de API y quitar usuarios no requiere aprobación, porque un acceso filtrado se debe detener de inmediato. Las llamadas a la API de su software tampoco la requieren.',
    needsTwo: 'Al menos dos usuarios deben poder aprobar. Invite primero a otro usuario.',
    toTeam: 'Ir al equipo',
    turnOn: 'Exigir aprobación de dos personas',
    turnOff: 'Desactivar aprobación de dos personas',
    confirmOn:
      'Los cambios en producción esperan entonces a que una segunda persona los apruebe. Revise primero el equipo: todo propietario y desarrollador puede aprobar. Los enlaces de invitación pendientes se revocan.',
    confirmOff: 'Una segunda persona debe aprobarlo, como todo cambio en producción.',
    doneOn: 'La aprobación de dos personas está activada.',
    doneOff: 'La aprobación de dos personas está desactivada.',
    ownerOnly: 'Solo los propietarios pueden cambiarlo.',
  },
};
