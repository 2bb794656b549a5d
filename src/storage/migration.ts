/** A numbered step of the schema. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** The oldest version of the schema whose code still works on this one, beside nodes that know it. */
  readonly minCompatible: number;
  readonly sql: string;
}
