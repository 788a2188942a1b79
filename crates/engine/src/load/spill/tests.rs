use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};

use super::{RECORD_BYTES, Record, SpillPool};

/// Fingerprints spread over all partitions, with many repetitions.
fn spread(seed: u16) -> u128 {
    u128::from(seed % 97).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}

fn read_all(pool: &SpillPool, id: super::SetId) -> Vec<Record> {
    let slices = pool
        .for_each_slice(&[id], |slice| {
            let mut records = Vec::new();
            slice.read(id, |record| records.push(record))?;
            Ok(records)
        })
        .unwrap();
    slices.into_iter().flatten().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_pushes_under_any_budget_come_back_once_and_in_order(
        seeds in proptest::collection::vec((any::<u16>(), any::<bool>()), 0..2_000),
        budget in 0_u64..20_000,
    ) {
        let mut pool = SpillPool::new(None, budget);
        let ids = [pool.add(), pool.add()];
        let mut oracle: [BTreeMap<u128, Vec<u64>>; 2] = [BTreeMap::new(), BTreeMap::new()];
        for (row, (seed, second)) in seeds.iter().enumerate() {
            let which = usize::from(*second);
            pool.set_mut(ids[which]).push(spread(*seed), row as u64);
            oracle[which].entry(spread(*seed)).or_default().push(row as u64);
            if row % 7 == 0 {
                pool.relieve().unwrap();
                let buffered: u64 = pool.sets.iter().map(|set| set.buffered).sum();
                prop_assert!(buffered <= budget);
            }
        }
        for (id, expected) in ids.into_iter().zip(oracle) {
            let mut found: BTreeMap<u128, Vec<u64>> = BTreeMap::new();
            for record in read_all(&pool, id) {
                found.entry(record.fingerprint).or_default().push(record.tag);
            }
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn slices_bring_equal_fingerprints_of_two_sets_together(
        left in proptest::collection::vec(any::<u16>(), 0..500),
        right in proptest::collection::vec(any::<u16>(), 0..500),
        budget in 0_u64..5_000,
    ) {
        let mut pool = SpillPool::new(None, budget);
        let (a, b) = (pool.add(), pool.add());
        left.iter().for_each(|seed| pool.set_mut(a).push(spread(*seed), 0));
        right.iter().for_each(|seed| pool.set_mut(b).push(spread(*seed), 0));
        pool.relieve().unwrap();
        let common = pool.for_each_slice(&[a], |slice| {
            let (mut held, mut common) = (BTreeSet::new(), BTreeSet::new());
            slice.read(a, |record| { held.insert(record.fingerprint); })?;
            slice.read(b, |record| if held.contains(&record.fingerprint) { common.insert(record.fingerprint); })?;
            Ok(common)
        }).unwrap();
        let found: BTreeSet<u128> = common.into_iter().flatten().collect();
        let left: BTreeSet<u128> = left.into_iter().map(spread).collect();
        let right: BTreeSet<u128> = right.into_iter().map(spread).collect();
        prop_assert_eq!(found, left.intersection(&right).copied().collect::<BTreeSet<_>>());
    }
}

#[test]
fn a_partition_larger_than_the_budget_is_read_in_passes() {
    let mut pool = SpillPool::new(None, 96 * 8);
    let id = pool.add();
    for row in 0..64_u64 {
        pool.set_mut(id).push(u128::from(row) << 116, row);
    }
    pool.relieve().unwrap();
    assert!(pool.set(id).file_bytes >= 64 * RECORD_BYTES as u64);
    let sizes = pool
        .for_each_slice(&[id], |slice| {
            let mut records = 0_u64;
            slice.read(id, |_| records += 1)?;
            Ok(records)
        })
        .unwrap();
    assert_eq!(sizes.iter().sum::<u64>(), 64);
    assert!(sizes.len() > 1 && sizes.iter().all(|&records| records <= 8), "{sizes:?}");
}
