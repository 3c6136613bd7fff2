//! Work on several threads at once.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What comes of every task, in their order, on as many threads as there are processors for. The first are begun first.
pub(super) fn side_by_side<T: Sync, R: Send>(tasks: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(index) else {
                return done;
            };
            done.push((index, work(task)));
        }
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let helpers: Vec<_> = (1..processors.min(tasks.len()))
            .map(|_| scope.spawn(worker))
            .collect();
        let mut done = worker();
        for helper in helpers {
            match helper.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_their_tasks() {
        let tasks: Vec<u64> = (0..100).collect();
        let squares: Vec<u64> = tasks.iter().map(|task| task * task).collect();
        assert_eq!(side_by_side(&tasks, |task| task * task), squares);
        assert!(side_by_side(&[], |task: &u64| *task).is_empty());
    }
}
