//! Who waits for which task: told between the runs and the long polls of one process. Other
//! instances' changes arrive by reading again.

use crate::core::domain::ids::TaskId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Who waits for which task of this process.
#[derive(Debug, Default)]
pub struct TaskWaiters {
    waiting: Mutex<HashMap<TaskId, Arc<Notify>>>,
    /// Rings when work became due in this process.
    work: Notify,
}

/// One who waits for a task; gone when dropped.
#[derive(Debug)]
pub struct TaskWaiter<'a> {
    watch: &'a TaskWaiters,
    task: TaskId,
    bell: Arc<Notify>,
}

impl TaskWaiters {
    /// Begins to wait; register before reading the task, or its last change may be missed.
    pub fn register(&self, task: TaskId) -> TaskWaiter<'_> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let bell = Arc::clone(waiting.entry(task).or_default());
        TaskWaiter { watch: self, task, bell }
    }

    /// The task has changed.
    pub fn changed(&self, task: TaskId) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = waiting.get(&task) {
            bell.notify_waiters();
        }
    }

    /// A task became due: a worker of this process need not wait for its next poll.
    pub fn work_is_due(&self) {
        self.work.notify_one();
    }

    /// Resolves when work became due since the last time.
    pub async fn due(&self) {
        self.work.notified().await;
    }
}

impl TaskWaiter<'_> {
    /// Resolves at the next change after this call.
    pub fn change(&self) -> tokio::sync::futures::Notified<'_> {
        self.bell.notified()
    }
}

impl Drop for TaskWaiter<'_> {
    fn drop(&mut self) {
        let mut waiting = self.watch.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // The map and this waiter hold the last two handles.
        if Arc::strong_count(&self.bell) == 2 {
            waiting.remove(&self.task);
        }
    }
}
