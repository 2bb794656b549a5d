import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildDocument, generateTypes } from './client-types.ts';

/** Writes the types of the TypeScript client from the OpenAPI document: `npm run generate:client`. A test finds a difference. */
const FILE = join(import.meta.dirname, '..', 'sdk', 'src', 'schema.ts');

writeFileSync(FILE, generateTypes(buildDocument()));
