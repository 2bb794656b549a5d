/** A numbered step of the schema. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** The oldest version whose code still works with this schema, beside nodes of the newer version. */
  readonly minCompatible: number;
  readonly sql: string;
}
