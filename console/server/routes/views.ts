import type { SavedView } from '../../people/saved-view-store.ts';
import { deleteView, listViews, renameView, saveView } from '../../wire/views.ts';
import { type AnyCall, type Route, route } from '../route.ts';

export const viewRoutes: readonly Route[] = [
  route(listViews, async (call) => ({
    views: (await call.services.people.savedViews.list(memberOf(call))).map(toView),
  })),

  route(saveView, async (call) => {
    const { services, transaction, body } = call;
    return { view: toView(await services.people.savedViews.save(transaction, memberOf(call), body)) };
  }),

  route(renameView, async (call) => {
    const { services, transaction, params, body } = call;
    const { savedViews } = services.people;
    return { view: toView(await savedViews.rename(transaction, memberOf(call), params['id'] ?? '', body.name)) };
  }),

  route(deleteView, async (call) => {
    const { services, transaction, params } = call;
    services.people.savedViews.delete(transaction, memberOf(call), params['id'] ?? '');
    return { done: true };
  }),
];

const memberOf = ({ account, person }: Pick<AnyCall, 'account' | 'person'>) => ({ account, person: person.id });

const toView = ({ id, list, name, filters }: SavedView) => ({ id, list, name, filters });
