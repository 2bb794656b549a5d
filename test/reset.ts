import type { Socket } from 'node:net';

/**
 * Cuts a connection as a peer that has gone does. While its end is being sent it is closed instead: a reset of that
 * moment fails in Node (EINVAL), which then never closes the socket, and turns in circles when the process should end.
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
