import type { Transaction } from '../../src/idempotency/transaction.ts';
import { assertDisplayable } from '../../src/kernel/displayable.ts';
import { Failure, invalidField, notPossible } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import {
  deleteSavedView,
  insertSavedView,
  listSavedViews,
  type SavedView,
  updateSavedView,
} from './saved-view-store.ts';
import type { PeopleDependencies } from './sealing.ts';

const ID_CHARACTERS = 14;

/** A member of an account, who alone sees the own views. */
type Member = Pick<SavedView, 'account' | 'person'>;

/** Named filters of lists. They are deleted together with the membership. */
export class SavedViews {
  readonly #dependencies: PeopleDependencies;

  constructor(dependencies: PeopleDependencies) {
    this.#dependencies = dependencies;
  }

  /** Lists the oldest first. */
  list({ account, person }: Member): Promise<SavedView[]> {
    return listSavedViews(this.#dependencies.database, this.#dependencies.keyring, account, person);
  }

  /** Throws `invalid_field`, and `not_possible` at the limit. */
  async save(
    transaction: Transaction,
    member: Member,
    content: Pick<SavedView, 'list' | 'name' | 'filters'>,
  ): Promise<SavedView> {
    const { keyring, random } = this.#dependencies;
    await this.#assertName(member, content);
    for (const [index, filter] of content.filters.entries())
      for (const member of ['name', 'value'] as const) assertDisplayable(filter[member], `filters[${index}].${member}`);
    const view = { ...member, ...content, id: newId('view', ID_CHARACTERS, random), createdAt: transaction.now };
    const full = notPossible('savedViews', { max: LIMITS.savedViewsPerMember });
    transaction.write(await insertSavedView(keyring, view), full);
    return view;
  }

  /** Throws `unknown_record` and `invalid_field`. */
  async rename(transaction: Transaction, member: Member, id: string, name: string): Promise<SavedView> {
    const { database, keyring } = this.#dependencies;
    const found = (await listSavedViews(database, keyring, member.account, member.person)).find(
      (view) => view.id === id,
    );
    if (found === undefined) throw new Failure('unknown_record');
    if (name !== found.name) await this.#assertName(member, { list: found.list, name });
    const renamed = { ...found, name };
    transaction.write(await updateSavedView(keyring, renamed));
    return renamed;
  }

  /** Throws `unknown_record`. */
  delete(transaction: Transaction, { account, person }: Member, id: string): void {
    transaction.write(deleteSavedView({ account, person, id }), new Failure('unknown_record'));
  }

  /** Throws `invalid_field` when a view of the list has the name: the user sees nothing else of a view. */
  async #assertName(member: Member, { list, name }: Pick<SavedView, 'list' | 'name'>): Promise<void> {
    assertDisplayable(name, 'name');
    const isTaken = (await this.list(member)).some((view) => view.list === list && view.name === name);
    if (isTaken) throw invalidField('name', 'viewNameTaken');
  }
}
