/** The type of a column besides null: text, integers (`integer`, `bigint`), or bytes. */
export type Kind = 'text' | 'integer' | 'blob';

export interface Table {
  readonly name: string;
  /** The columns of the primary key or of the unique index in its place, all not null, in the order of the key. */
  readonly key: readonly string[];
  /** All columns, in the order of the schema. */
  readonly columns: Readonly<Record<string, Kind>>;
  /** True when the rows concern the service over this one database: a copy of the vault leaves them out. */
  readonly isLocal?: true;
}
