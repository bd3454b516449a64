//! Several requests in flight at once: threads that serve what they are handed, and lists of requests of which none waits
//! for another.

use std::ops::Range;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};

use super::{EngineError, ErrorKind};

/// Starts up to `threads` threads in a scope. Each takes orders from `next` until there are none; the receiver ends when
/// all of them have. `None` if the system gives no thread.
pub(super) fn serve<'scope, Q: 'scope, A: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    threads: usize,
    next: impl Fn() -> Option<Q> + Copy + Send + 'scope,
    work: impl Fn(Q) -> A + Copy + Send + 'scope,
) -> Option<Receiver<A>> {
    let (answers, answered) = channel();
    let mut started = false;
    for _ in 0..threads {
        let answers = answers.clone();
        let served = thread::Builder::new().spawn_scoped(scope, move || {
            while let Some(order) = next() {
                if answers.send(work(order)).is_err() {
                    return;
                }
            }
        });
        // Fewer threads do the same, only later.
        started |= served.is_ok();
    }
    started.then_some(answered)
}

/// Tasks that failed.
pub(in crate::flow) struct Failed {
    /// The first one: a failed request before one that was not sent because the run was asked to stop.
    pub task: usize,
    /// Why it failed.
    pub error: EngineError,
    /// The others that were in flight with it.
    pub others: Vec<(usize, EngineError)>,
}

impl From<Failed> for EngineError {
    /// What stands for all where none can have changed anything.
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

/// The tasks of a list, as the threads take them.
struct Queue {
    rest: Range<usize>,
    open: bool,
}

/// Does the numbered tasks, `width` at once, and hands each result to `deliver` on the calling thread as it arrives.
/// After a failure, or a result that `goes_on` refuses, no further task is begun; those in flight are waited for. Gives
/// the number of the first task that was not begun.
///
/// One task, or a width of one, needs no thread: the calling one does the tasks in their order, and each result is
/// delivered before the next task begins.
pub(in crate::flow) fn in_flight<T: Send>(
    tasks: Range<usize>,
    width: usize,
    work: impl Fn(usize) -> Result<T, EngineError> + Sync,
    goes_on: impl Fn(&T) -> bool + Sync,
    mut deliver: impl FnMut(usize, T),
) -> Result<usize, Failed> {
    let queue = Mutex::new(Queue {
        rest: tasks.clone(),
        open: true,
    });
    let locked = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let next = || {
        let mut queue = locked();
        if queue.open { queue.rest.next() } else { None }
    };
    let task = |number: usize| {
        let result = work(number);
        // Here, not where results are delivered: between the two another thread could begin a task.
        if !result.as_ref().is_ok_and(&goes_on) {
            locked().open = false;
        }
        (number, result)
    };
    let mut failed = Vec::new();
    let mut settle = |(number, result)| match result {
        Ok(value) => deliver(number, value),
        Err(error) => failed.push((number, error)),
    };
    let threads = width.min(tasks.len());
    if threads > 1 {
        thread::scope(|scope| {
            if let Some(results) = serve(scope, threads, next, task) {
                results.iter().for_each(&mut settle);
            }
        });
    }
    // Alone, or all that is left when the system gave no thread.
    while let Some(number) = next() {
        settle(task(number));
    }
    failed.sort_by_key(|(number, error)| (matches!(error.kind(), ErrorKind::Interrupted(_)), *number));
    let mut failed = failed.into_iter();
    match failed.next() {
        None => Ok(locked().rest.start),
        Some((task, error)) => Err(Failed {
            task,
            error,
            others: failed.collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::Sender;
    use std::thread::ThreadId;

    use proptest::prelude::*;

    use super::*;
    use crate::flow::apps::AppsError;
    use crate::flow::exec::Interrupt;

    fn refused() -> EngineError {
        AppsError::new("refused").into()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn each_task_is_done_once_and_no_more_than_allowed_at_once(first in 0usize..5, count in 0usize..40, width in 0usize..12) {
            let (now, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let work = |task| {
                peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::yield_now();
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(task * 2)
            };
            let mut done = Vec::new();
            let end = in_flight(first..first + count, width, work, |_| true, |task, twice| done.push((task, twice)));
            prop_assert_eq!(end.ok(), Some(first + count));
            prop_assert!(peak.into_inner() <= width.max(1));
            done.sort_unstable();
            let expected: Vec<(usize, usize)> = (first..first + count).map(|task| (task, task * 2)).collect();
            prop_assert_eq!(done, expected);
        }
    }

    #[test]
    fn one_task_or_a_width_of_one_needs_no_thread() {
        let own = thread::current().id();
        let where_done = |tasks, width| {
            let mut seen: Vec<(usize, ThreadId)> = Vec::new();
            let work = |_| Ok(thread::current().id());
            let end = in_flight(
                tasks,
                width,
                work,
                |_| true,
                |task, thread| seen.push((task, thread)),
            );
            assert!(end.is_ok());
            seen
        };
        assert_eq!(where_done(3..4, 10), [(3, own)]);
        assert_eq!(where_done(0..3, 1), [(0, own), (1, own), (2, own)]);
        assert!(where_done(0..2, 2).iter().all(|(_, thread)| *thread != own));
        assert_eq!(where_done(0..0, 4), []);
    }

    /// Says when the thread that holds it has ended.
    struct Farewell(Sender<()>);

    impl Drop for Farewell {
        fn drop(&mut self) {
            // Nobody listens any more when a test has failed.
            let _ = self.0.send(());
        }
    }

    thread_local! {
        static HELD: RefCell<Option<Farewell>> = const { RefCell::new(None) };
    }

    #[test]
    fn after_a_failure_nothing_begins_and_what_is_in_flight_lands() {
        let barrier = Barrier::new(4);
        let begun = Mutex::new(Vec::new());
        let (gone, farewell) = channel();
        let (gone, farewell) = (Mutex::new(gone), Mutex::new(Some(farewell)));
        let work = |task| {
            begun.lock().unwrap().push(task);
            barrier.wait();
            if task == 1 {
                let farewell = Farewell(gone.lock().unwrap().clone());
                HELD.with(|held| *held.borrow_mut() = Some(farewell));
                return Err(refused());
            }
            // One of the others waits until the thread of the failed task has found nothing more to do and has ended.
            let mut listener = farewell.lock().unwrap();
            if let Some(gone) = listener.take() {
                gone.recv().unwrap();
            }
            Ok(task)
        };
        let mut landed = Vec::new();
        let failed = in_flight(0..9, 4, work, |_| true, |_, task| landed.push(task)).unwrap_err();
        assert_eq!((failed.task, failed.error.kind()), (1, ErrorKind::Apps));
        assert!(failed.others.is_empty());
        let mut begun = begun.into_inner().unwrap();
        begun.sort_unstable();
        landed.sort_unstable();
        assert_eq!((begun, landed), (vec![0, 1, 2, 3], vec![0, 2, 3]));
    }

    #[test]
    fn a_failed_request_counts_more_than_one_that_was_not_sent() {
        let barrier = Barrier::new(4);
        let work = |task| -> Result<(), EngineError> {
            barrier.wait();
            match task {
                0 | 2 => Err(EngineError::interrupted(Interrupt::Cancelled)),
                _ => Err(refused()),
            }
        };
        let failed = in_flight(0..4, 4, work, |()| true, |_, ()| unreachable!()).unwrap_err();
        assert_eq!((failed.task, failed.error.kind()), (1, ErrorKind::Apps));
        let others: Vec<usize> = failed.others.iter().map(|(task, _)| *task).collect();
        assert_eq!(others, [3, 0, 2]);
    }

    #[test]
    fn a_result_can_end_a_list_that_goes_on_later() {
        let mut seen = Vec::new();
        let next = in_flight(0..6, 1, Ok, |task| *task < 2, |task, _| seen.push(task));
        assert_eq!(next.ok(), Some(3));
        let next = in_flight(3..6, 3, Ok, |_| true, |task, _| seen.push(task));
        assert_eq!(next.ok(), Some(6));
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
    }
}
