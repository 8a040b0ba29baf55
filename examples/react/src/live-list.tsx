import { useLiveList, type Families, type Family } from '@trivium/client/react';

/** Shipments or payments, which come, go and change by themselves. */
export function LiveList<F extends Family>({
  family,
  describe,
}: {
  family: F;
  describe: (entity: Families[F]['entity']) => string;
}) {
  const { entities, hasMore, more, error } = useLiveList(family, { first: 5 });
  return (
    <section id={family}>
      <h2>{family}</h2>
      {error && <p role="alert">{error.message}</p>}
      <ul>
        {entities.map((entity) => (
          <li key={entity.id}>{describe(entity)}</li>
        ))}
      </ul>
      {hasMore && <button onClick={() => void more()}>More</button>}
    </section>
  );
}
