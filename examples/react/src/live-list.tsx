import { useLiveList, type LiveListResult } from '@trivium/client/react';

type Entities<F extends 'shipments' | 'payments'> =
  ReturnType<typeof useLiveList<F>> extends LiveListResult<infer Entity> ? Entity : never;

/** Shipments or payments, which come, go and change by themselves. */
export function LiveList<F extends 'shipments' | 'payments'>({
  family,
  describe,
}: {
  family: F;
  describe: (entity: Entities<F>) => string;
}) {
  const { entities, hasMore, more, error } = useLiveList(family, { first: 5 });
  return (
    <section id={family}>
      <h2>{family}</h2>
      {error && <p role="alert">{error.message}</p>}
      <ul>
        {entities.map((entity) => (
          <li key={entity.id}>{describe(entity as Entities<F>)}</li>
        ))}
      </ul>
      {hasMore && <button onClick={() => void more()}>More</button>}
    </section>
  );
}
