// Policies: budgets and rates that each group of callers has of its own.

import { Head } from '../parts.tsx';
import { PolicyList } from '../policies/list.tsx';
import { RATES } from '../policies/rates.tsx';
import { USAGE } from '../policies/usage.tsx';

export default function Policies() {
  return (
    <>
      <Head title="Policies" />
      <PolicyList kind={USAGE} />
      <PolicyList kind={RATES} />
    </>
  );
}
