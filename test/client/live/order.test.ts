import { expect, test } from 'vitest';
import { withEntity } from '../../../src/client/live/order.js';

const entity = (id: string, updatedAt: string) => ({ id, revision: 1, updatedAt });

test.each([
  ['2031-01-01T10:00:20Z'],
  ['2031-01-01T10:00:20.500z'],
  ['2031-01-01T11:00:20+01:00'],
  ['2031-01-01T11:00:20+0100'],
  ['2031-01-01 10:00:20+00'],
  ['2031-01-01 09:30:20 -00:30'],
  ['2031-01-01 10:00:20'],
])('an entity of %s has its place in a list', (updatedAt) => {
  const entities = [entity('later', '2031-01-01T10:00:21Z'), entity('earlier', '2031-01-01T10:00:19Z')];
  const list = { entities, hasMore: false, end: undefined };
  const after = withEntity(list, null, entity('it', updatedAt));
  expect(after.entities.map(({ id }) => id)).toEqual(['later', 'it', 'earlier']);
});

test.each([
  ['keeps', {}, ['it']],
  ['keeps', { stage: 'CREATED' }, ['it']],
  ['leaves out', { stage: 'DELIVERED' }, []],
])('a list of one stage %s an entity of which it knows %o', (_, known, ids) => {
  const list = { entities: [], hasMore: false, end: undefined };
  const after = withEntity(list, { stage: 'CREATED' }, { ...entity('it', '2031-01-01T10:00:20Z'), ...known });
  expect(after.entities.map(({ id }) => id)).toEqual(ids);
});
