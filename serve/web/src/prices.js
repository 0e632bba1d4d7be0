// SPDX-License-Identifier: GPL-3.0-or-later
// Pools that are used and have no price. Costs do not contain these pools. If only such pools are used, the cost is
// unknown, not 0, as in the terminal output (hr__is_unpriced).

const used = (result) => (result.by_pool ?? []).filter(({ gpu_hours: hours }) => hours > 0);
const lacksPrice = ({ cost_usd: cost }) => typeof cost !== 'number';

export const unpricedPools = (result) => used(result).filter(lacksPrice).map(({ name }) => name);

export const isUnpriced = (result) => {
  const pools = used(result);
  return !result.cost || (pools.length > 0 && pools.every(lacksPrice) && !result.cost.total_usd);
};

const SHOWN = 3;
// Returns words such as "pool own has no price".
export const priceWords = (names) => {
  if (!names.length) return 'no pool has a price';
  const some = `${names.slice(0, SHOWN).join(', ')}${names.length > SHOWN ? ' and others' : ''}`;
  return names.length === 1 ? `pool ${some} has no price` : `the pools ${some} have no price`;
};
export const HOW_TO_PRICE = 'To add a price, open the pool under “Scenario”, add the key “market” with the value “owned”, and the key “usd_per_gpu_hour”.';
