//! Admission, by the order of events.

use futures::FutureExt;

use super::*;

fn admission(change: impl FnOnce(&mut Limits)) -> Admission {
    let mut limits = Limits::default();
    change(&mut limits);
    Admission::new(&limits)
}

fn limit_of<T>(refused: Result<T>) -> &'static str {
    match refused {
        Err(EngineError::Limit { limit, .. } | EngineError::Busy { limit, .. }) => limit,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("admitted"),
    }
}

#[tokio::test]
async fn read_waits_for_a_place_and_one_too_many_is_refused() {
    let admission = admission(|limits| (limits.queries_concurrent_max, limits.queries_queued_max) = (1, 1));
    let first = admission.admit(1).await.unwrap();
    let mut second = Box::pin(admission.admit(1));
    assert!((&mut second).now_or_never().is_none());
    assert_eq!(limit_of(admission.admit(1).await), "queries_queued_max");
    drop(first);
    assert!((&mut second).now_or_never().unwrap().is_ok());
}

#[tokio::test]
async fn dropped_read_leaves_the_queue() {
    let admission = admission(|limits| (limits.queries_concurrent_max, limits.queries_queued_max) = (1, 1));
    let _first = admission.admit(1).await.unwrap();
    let mut second = Box::pin(admission.admit(1));
    assert!((&mut second).now_or_never().is_none());
    drop(second);
    assert!(admission.admit(1).now_or_never().is_none(), "it waits, and is not refused");
}

#[tokio::test]
async fn memory_of_all_reads_is_bounded() {
    const MIB: u64 = 1024 * 1024;
    let admission = admission(|limits| limits.queries_memory_bytes_max = 10 * MIB);
    assert_eq!(limit_of(admission.admit(11 * MIB).await), "queries_memory_bytes_max");
    let first = admission.admit(6 * MIB).await.unwrap();
    let mut second = Box::pin(admission.admit(6 * MIB));
    assert!((&mut second).now_or_never().is_none());
    drop(first);
    assert!((&mut second).now_or_never().unwrap().is_ok());
}
