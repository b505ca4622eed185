//! In which trace a guarded call was made: the exchange inside leaves the trace's id, the breaker
//! around it picks it up for whoever counts. Neither knows the other.

use std::cell::Cell;

tokio::task_local! {
    static TRAIL: Cell<Option<u128>>;
}

/// Tells the guarded call around the caller, if there is one.
pub fn leave(trace_id: u128) {
    let _ = TRAIL.try_with(|trail| trail.set(Some(trace_id)));
}

/// Runs a call and tells in which trace its last exchange was.
pub(super) async fn follow<T>(call: impl Future<Output = T>) -> (T, Option<u128>) {
    let followed = async {
        let result = call.await;
        (result, TRAIL.with(Cell::get))
    };
    TRAIL.scope(Cell::new(None), followed).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_call_has_its_own_trail_and_outside_there_is_none() {
        leave(1);
        let inner = async {
            leave(2);
            follow(async { leave(3) }).await
        };
        assert_eq!(follow(inner).await, (((), Some(3)), Some(2)));
        assert_eq!(follow(async {}).await, ((), None));
    }
}
