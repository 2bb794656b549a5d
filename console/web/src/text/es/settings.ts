import type { settings as english } from '../en/settings.ts';

export const settings: typeof english = {
  title: 'Ajustes',
  description: 'Lo que esta cuenta decide por sí misma.',
  byTwo: {
    title: 'Dos personas para producción',
    text: 'Una persona pide un cambio en producción, otra lo aprueba y entonces la primera lo ejecuta. Así, ni un solo error ni un solo acceso robado cambian producción.',
    on: 'Activado',
    off: 'Desactivado',
    covers: 'Vale para',
    list: {
      keys: 'Crear, cambiar y rotar claves de API',
      payments: 'Capturas, devoluciones y anulaciones a mano',
      proxy: 'Claves y ajustes del proxy',
      tokens: 'Eliminar tokens',
      team: 'Invitar a personas, cambiar roles y crear un nuevo acceso',
      operator: 'Configuración del procesador y del proxy que cambia un operador, también por comando',
      settings: 'Desactivar esta misma opción',
    },
    never:
      'Revocar una clave de API y quitar personas nunca espera: lo que se filtró debe terminar enseguida. Las llamadas de su software tampoco esperan.',
    needsTwo: 'Necesita al menos dos personas que puedan aprobar. Invite antes a otra.',
    toTeam: 'Ir al equipo',
    turnOn: 'Exigir dos personas',
    turnOff: 'Permitir una sola persona',
    confirmOn:
      'Desde ahora los cambios en producción esperan a una segunda persona, que puede ser cualquiera que ahora pueda aprobar: mire antes el equipo. Los enlaces abiertos terminan, porque los creó una sola persona.',
    confirmOff: 'Una segunda persona debe aprobarlo, como todo cambio en producción.',
    confirm: 'Cambiar',
    doneOn: 'Desde ahora los cambios en producción necesitan dos personas.',
    doneOff: 'Desde ahora una sola persona puede cambiar producción.',
    ownerOnly: 'Solo los propietarios pueden cambiarlo.',
  },
};
