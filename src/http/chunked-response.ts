import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** Whatever is written to a connection is encrypted at once, and kept until it is read: so much for whoever never reads. */
const CHUNK_BYTES = 64 * 1024;

/** Sends bytes that many may ask for at the same time: the next piece when the one before has left. */
export function sendInChunks(reply: FastifyReply, body: Buffer): FastifyReply {
  if (body.length <= CHUNK_BYTES) return reply.send(body);
  return reply.header('content-length', String(body.length)).send(createChunkStream(body));
}

function createChunkStream(body: Buffer): Readable {
  let start = 0;
  return new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      const end = Math.min(start + CHUNK_BYTES, body.length);
      this.push(start < end ? body.subarray(start, end) : null);
      start = end;
    },
  });
}
