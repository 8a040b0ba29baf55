import { parse } from 'graphql';
import { expect, test } from 'vitest';
import { LiveLists } from '../../../src/client/urql/live-lists.js';

const list = '{ pageInfo { endCursor hasNextPage } edges { node { id revision updatedAt } } }';
const byStage = parse(
  `query ($filter: ShipmentFilter = { stage: CREATED }) { liveCursor shipments(filter: $filter) ${list} }`,
);
const shipments = parse(
  `query ($first: Int, $last: Int) { liveCursor shipments(first: $first, last: $last) ${list} }`,
);

const answer = (id: string) => ({
  liveCursor: 'begun',
  shipments: { edges: [{ node: { id, revision: 1, updatedAt: '2026-01-01T00:00:00Z' } }] },
});

test.each([
  ['a filter and its default', byStage, { filter: { stage: 'DELIVERED' } }, {}],
  ['a default and no filter', byStage, {}, { filter: null }],
  ['the start and the end', shipments, { first: 2 }, { last: 2 }],
])('lists of %s are two', (_, query, one, other) => {
  const lists = new LiveLists();
  lists.take({ key: 1, query, variables: one }, answer('one'));
  lists.take({ key: 2, query, variables: other }, answer('other'));
  expect(lists.shown({ key: 1, query, variables: one })).toEqual(answer('one'));
  expect(lists.shown({ key: 2, query, variables: other })).toEqual(answer('other'));
});

test.each([
  ['a default and the same filter', byStage, {}, { filter: { stage: 'CREATED' } }],
  ['pages of two lengths', shipments, { first: 2 }, { first: 5 }],
])('lists of %s are one', (_, query, one, other) => {
  const lists = new LiveLists();
  lists.take({ key: 1, query, variables: one }, answer('one'));
  lists.take({ key: 2, query, variables: other }, answer('other'));
  expect(lists.shown({ key: 1, query, variables: one })).toEqual(answer('other'));
});

test.each([
  ['has the rows of the pages before', { first: 3, pinned: true, after: 'one' }, answer('one')],
  ['of something else has no rows', { first: 2, pinned: false, after: 'one' }, undefined],
])('a page without an answer %s', (_, variables, shown) => {
  const query = parse(`query ($first: Int, $after: String, $pinned: Boolean) {
    liveCursor
    shipments(first: $first, after: $after) ${list}
    notes(filter: { pinned: $pinned }) { edges { node { id } } }
  }`);
  const lists = new LiveLists();
  lists.take({ key: 1, query, variables: { first: 2, pinned: true } }, answer('one'));
  const operation = { key: 2, query, variables };
  expect(lists.read(operation)).toBeUndefined();
  expect(lists.shown(operation)).toEqual(shown);
});
