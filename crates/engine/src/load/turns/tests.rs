use futures::FutureExt;

use super::*;

fn turns(change: impl FnOnce(&mut Limits)) -> Turns {
    let mut limits = Limits { loads_concurrent_max: 1, ..Limits::default() };
    change(&mut limits);
    Turns::new(&limits)
}

fn limit_of<T>(refused: Result<T>) -> &'static str {
    match refused {
        Err(EngineError::Busy { limit, .. }) => limit,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("not refused"),
    }
}

#[tokio::test]
async fn load_waits_for_its_turn_in_order_and_one_too_many_is_refused() {
    let turns = turns(|limits| limits.loads_queued_max = 2);
    let first = turns.take(None).await.unwrap();
    let (mut second, mut third) = (Box::pin(turns.take(None)), Box::pin(turns.take(None)));
    assert!((&mut second).now_or_never().is_none() && (&mut third).now_or_never().is_none());
    assert_eq!(limit_of(turns.take(None).await), "loads_queued_max");
    drop(first);
    assert!((&mut third).now_or_never().is_none());
    let second = (&mut second).now_or_never().unwrap().unwrap();
    drop(second);
    assert!((&mut third).now_or_never().unwrap().is_ok());
}

#[tokio::test]
async fn load_waits_at_most_to_its_deadline_and_not_for_ever() {
    let turns = turns(|limits| limits.load_wait_ms = 1);
    let first = turns.take(None).await.unwrap();
    assert!(matches!(turns.take(Some(Instant::now())).await, Err(EngineError::LoadDeadline)));
    assert_eq!(limit_of(turns.take(None).await), "loads_concurrent_max");
    drop(first);
    assert!(turns.take(None).now_or_never().unwrap().is_ok(), "those that gave up hold nothing");
}

#[tokio::test]
async fn silent_load_keeps_its_turn_until_another_one_waits() {
    let turns = turns(|limits| limits.load_patience_ms = 1);
    let mut first = turns.take(None).await.unwrap();
    let mut silence = Box::pin(turns.next_of(&mut first, std::future::pending::<()>()));
    assert!(timeout_at(Instant::now() + Duration::from_millis(20), &mut silence).await.is_err());
    let mut second = Box::pin(turns.take(None));
    assert!((&mut second).now_or_never().is_none());
    assert!(matches!(silence.await, Err(EngineError::Outwaited { patience_ms: 1 })));
    drop(first);
    assert!(second.now_or_never().unwrap().is_ok());
}

#[tokio::test]
async fn only_time_in_which_others_wait_is_counted_and_rows_earn_it_back() {
    let turns = turns(|_| {});
    let mut first = turns.take(None).await.unwrap();
    let pause = Duration::from_millis(2);
    turns.next_of(&mut first, sleep(pause)).await.unwrap();
    assert_eq!(first.left, turns.patience);
    let mut second = Box::pin(turns.take(None));
    assert!((&mut second).now_or_never().is_none());
    turns.next_of(&mut first, sleep(pause)).await.unwrap();
    assert!(first.left <= turns.patience - pause);
    let left = first.left;
    turns.received(&mut first, BYTES_PER_SECOND.div_ceil(1_000));
    assert_eq!(first.left, left + Duration::from_millis(1));
    turns.received(&mut first, u64::MAX);
    assert_eq!(first.left, turns.patience);
}
