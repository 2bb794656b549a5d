/** What a column holds besides null: text, whole numbers (`integer`, `bigint`), or bytes. */
export type Kind = 'text' | 'integer' | 'blob';

export interface Table {
  readonly name: string;
  /** The columns of the primary key or of the unique index in its place, none of them null, in the order of the key. */
  readonly key: readonly string[];
  /** All columns, in the order of the schema. */
  readonly columns: Readonly<Record<string, Kind>>;
  /** The rows concern the service over this one database: a copy of the vault leaves them behind. */
  readonly isLocal?: true;
}
